#include <string.h>
#include "api/server.h"

char *berth_api_login_link(struct berth_api *api)
{
	const uint16_t port = berth_http_port(api->http);
	BERTH_AUTO_FREE char *word = port > 0 ? berth_auth_link_make(api->auth, berth_api_now(api)) : NULL;
	const bool is_v6 = api->listen_addr && strchr(api->listen_addr, ':');
	char *link = NULL;

	if (!word || asprintf(&link, "http://%s%s%s:%u/login?once=%s", is_v6 ? "[" : "", api->listen_addr,
	                      is_v6 ? "]" : "", (unsigned)port, word) < 0)
		return NULL;
	return link;
}

void berth_post_login_links(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_refusal off = {MHD_HTTP_CONFLICT, "NoPage", NULL,
	                                  "Start the daemon with `--listen 127.0.0.1:8477`."};
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);
	BERTH_AUTO_FREE char *link = berth_api_login_link(api);

	if (berth_http_port(api->http) == 0) {
		berth_reply_error(request, &off, "The daemon does not listen on TCP, so there is no page.");
		return;
	}
	text.is_failed = !link;
	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.login/1");
	berth_json_str(&json, "url", link);
	berth_json_u64(&json, "valid_ms", BERTH_LINK_LIFE_MS);
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_CREATED, &text);
}

static void refuse_link(struct berth_exchange *request)
{
	static const char page[] =
		"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>berth</title>"
		"<p>This link is used up or older than ten minutes. Type <code>berth web</code> for a fresh one."
		"<p lang=\"zh\">这个链接已经用过，或者超过了十分钟。请输入 <code>berth web</code> "
	        "取得新的链接。</html>\n";

	berth_reply_static(request, MHD_HTTP_FORBIDDEN, "text/html; charset=utf-8", page, sizeof(page) - 1);
}

/* The page that takes the browser on: a redirect would be part of the other site's navigation, and browsers then keep a
 * strict cookie back. */
static void admit(struct berth_exchange *request, const char *session)
{
	static const char page[] =
		"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; "
	        "url=/\"><link rel=\"icon\" href=\"/assets/icon.svg\"><title>berth</title>"
		"<p><a href=\"/\">berth</a></html>\n";
	BERTH_AUTO_FREE char *cookie = NULL;

	if (asprintf(&cookie, BERTH_COOKIE "=%s; Path=/; Max-Age=%u; HttpOnly; SameSite=Strict", session,
	             BERTH_SESSION_LIFE_S) < 0)
		cookie = NULL;
	berth_reply_static(request, MHD_HTTP_OK, "text/html; charset=utf-8", page, sizeof(page) - 1);
	if (cookie)
		berth_reply_header(request, "Set-Cookie", cookie);
}

void berth_get_login(struct berth_api *api, struct berth_exchange *request)
{
	const char *once = berth_exchange_query(request, "once");
	const uint64_t now_ms = berth_api_now(api);
	BERTH_AUTO_FREE char *session = NULL;

	if (!once || !berth_auth_link_use(api->auth, once, now_ms)) {
		refuse_link(request);
		return;
	}
	session = berth_auth_session_make(api->auth, api->host.uid, now_ms);
	if (session)
		admit(request, session);
	else
		refuse_link(request);
}
