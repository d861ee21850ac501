#include <string.h>
#include "api/server.h"

/* Bytes of a file, linked in by asset.S. */
#define ASSET(name)                             \
	extern const char berth_asset_##name[]; \
	extern const char berth_asset_##name##_end[]

ASSET(index_html);
ASSET(page_js);
ASSET(live_js);
ASSET(view_js);
ASSET(words_js);
ASSET(page_css);
ASSET(icon_svg);

static const struct asset {
	const char *name, *type;
	const char *from, *to;
} assets[] = {
	{"page.js", "text/javascript; charset=utf-8", berth_asset_page_js, berth_asset_page_js_end},
	{"live.js", "text/javascript; charset=utf-8", berth_asset_live_js, berth_asset_live_js_end},
	{"view.js", "text/javascript; charset=utf-8", berth_asset_view_js, berth_asset_view_js_end},
	{"words.js", "text/javascript; charset=utf-8", berth_asset_words_js, berth_asset_words_js_end},
	{"page.css", "text/css; charset=utf-8", berth_asset_page_css, berth_asset_page_css_end},
	{"icon.svg", "image/svg+xml", berth_asset_icon_svg, berth_asset_icon_svg_end},
};

void berth_get_page(struct berth_api *api, struct berth_exchange *request)
{
	berth_reply_static(request, MHD_HTTP_OK, "text/html; charset=utf-8", berth_asset_index_html,
	                   (size_t)(berth_asset_index_html_end - berth_asset_index_html));
}

void berth_get_asset(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_refusal refusal = {MHD_HTTP_NOT_FOUND, "NoSuchPath", NULL, NULL};

	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++)
		if (strcmp(assets[i].name, request->arg) == 0) {
			berth_reply_static(request, MHD_HTTP_OK, assets[i].type, assets[i].from,
			                   (size_t)(assets[i].to - assets[i].from));
			return;
		}
	berth_reply_error(request, &refusal, "The page has no part called %.40s.", request->arg);
}
