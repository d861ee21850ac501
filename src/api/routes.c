#include "api/routes.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include "base/units.h"

enum needs {
	NEEDS_NOTHING = 1, /* open to whoever reaches the socket */
	NEEDS_UNIX = 2,    /* only there: the kernel's word on who asks */
};

struct route {
	enum berth_method method;
	const char *path; /* '*' stands for one part */
	unsigned needs;   /* 0: the owner or root, by peer credentials or session */
	berth_handler *handle;
	const char *query; /* names allowed behind '?', each between blanks; NULL = none */
};

static const struct route routes[] = {
	{BERTH_METHOD_GET, "/api/v1/jobs", 0, berth_get_jobs, " state user active limit "},
	{BERTH_METHOD_POST, "/api/v1/jobs", 0, berth_post_jobs, " dry_run "},
	{BERTH_METHOD_GET, "/api/v1/jobs/*", 0, berth_get_job, NULL},
	{BERTH_METHOD_PATCH, "/api/v1/jobs/*", 0, berth_patch_job, NULL},
	{BERTH_METHOD_POST, "/api/v1/jobs/*/cancel", 0, berth_post_cancel, NULL},
	{BERTH_METHOD_POST, "/api/v1/jobs/*/hold", 0, berth_post_hold, NULL},
	{BERTH_METHOD_POST, "/api/v1/jobs/*/release", 0, berth_post_release, NULL},
	{BERTH_METHOD_POST, "/api/v1/jobs/*/requeue", 0, berth_post_requeue, NULL},
	{BERTH_METHOD_GET, "/api/v1/jobs/*/why", 0, berth_get_why, NULL},
	{BERTH_METHOD_GET, "/api/v1/jobs/*/log", 0, berth_get_log, " offset length "},
	{BERTH_METHOD_GET, "/api/v1/gpus", 0, berth_get_gpus, NULL},
	{BERTH_METHOD_POST, "/api/v1/gpus/*/drain", 0, berth_post_drain, NULL},
	{BERTH_METHOD_POST, "/api/v1/gpus/*/undrain", 0, berth_post_undrain, NULL},
	{BERTH_METHOD_GET, "/api/v1/history", 0, berth_get_history, " user state since before limit "},
	{BERTH_METHOD_GET, "/api/v1/events", 0, berth_get_events, " since "},
	{BERTH_METHOD_GET, "/api/v1/status", 0, berth_get_status, NULL},
	{BERTH_METHOD_GET, "/api/v1/doctor", 0, berth_get_doctor, NULL},
	{BERTH_METHOD_GET, "/api/v1/config", 0, berth_get_config, NULL},
	{BERTH_METHOD_POST, "/api/v1/admin/sim", 0, berth_post_sim, NULL},
	{BERTH_METHOD_POST, "/api/v1/login-links", NEEDS_UNIX, berth_post_login_links, NULL},
	{BERTH_METHOD_GET, "/login", NEEDS_NOTHING, berth_get_login, " once "},
	{BERTH_METHOD_GET, "/metrics", 0, berth_get_metrics, NULL},
	{BERTH_METHOD_GET, "/healthz", 0, berth_get_healthz, NULL},
	{BERTH_METHOD_GET, "/", 0, berth_get_page, NULL},
	{BERTH_METHOD_GET, "/assets/*", 0, berth_get_asset, NULL},
};

const char *berth_routes_path(size_t i, enum berth_method *ret_method, bool *ret_is_open)
{
	if (i >= sizeof(routes) / sizeof(routes[0]))
		return NULL;
	*ret_method = routes[i].method;
	*ret_is_open = routes[i].needs & NEEDS_NOTHING;
	return routes[i].path;
}

/* Does path match the pattern? The part that '*' stands for is never empty and holds no slash. */
static bool is_match(const char *pattern, const char *path, const char **ret_part, size_t *ret_n)
{
	const char *star = strchr(pattern, '*');
	const size_t before = star ? (size_t)(star - pattern) : 0;

	*ret_n = 0;
	if (!star)
		return strcmp(pattern, path) == 0;
	if (strncmp(pattern, path, before) != 0)
		return false;
	*ret_part = path + before;
	*ret_n = strcspn(*ret_part, "/");
	return *ret_n > 0 && strcmp(star + 1, *ret_part + *ret_n) == 0;
}

/* The route, or NULL with what other methods the path has. */
static const struct route *find(const struct berth_exchange *request, const char **ret_part, size_t *ret_n,
                                unsigned *ret_methods)
{
	*ret_methods = 0;
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (!is_match(routes[i].path, request->path, ret_part, ret_n))
			continue;
		if (routes[i].method == request->method)
			return &routes[i];
		*ret_methods |= 1u << routes[i].method;
	}
	return NULL;
}

static bool is_page(const struct berth_exchange *request)
{
	return request->method == BERTH_METHOD_GET &&
	       (strcmp(request->path, "/") == 0 || strcmp(request->path, "/login") == 0);
}

static void refuse_stranger(struct berth_exchange *request)
{
	static const char page[] = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>berth</title>"
				   "<p>Please sign in: type <code>berth web</code> in a terminal on this machine and "
				   "open the link it prints."
				   "<p lang=\"zh\">请先登录：在这台机器的终端里输入 <code>berth "
				   "web</code>，然后打开它给出的链接。</html>\n";
	const struct berth_refusal refusal = {MHD_HTTP_UNAUTHORIZED, "NotSignedIn", NULL,
	                                      "`berth web` prints a sign-in link; programs use the unix socket."};

	if (is_page(request))
		berth_reply_static(request, MHD_HTTP_UNAUTHORIZED, "text/html; charset=utf-8", page, sizeof(page) - 1);
	else
		berth_reply_error(request, &refusal, "This needs a session.");
}

static const char *bearer_of(const struct berth_exchange *request)
{
	static const char scheme[] = "Bearer ";
	const char *value = berth_exchange_header(request, "Authorization");

	return value && strncasecmp(value, scheme, sizeof(scheme) - 1) == 0 ? value + sizeof(scheme) - 1 : NULL;
}

/* Who asks over TCP: sets request->uid. */
static bool is_signed_in(const struct berth_api *api, struct berth_exchange *request)
{
	const char *session = bearer_of(request);

	if (!session)
		session = MHD_lookup_connection_value(request->mhd, MHD_COOKIE_KIND, BERTH_COOKIE);
	return session && berth_auth_session_check(api->auth, session, berth_api_now(api), &request->uid);
}

/* Requests that change something come from our page, or from a program that holds the session itself. */
static bool is_from_us(const struct berth_api *api, const struct berth_exchange *request)
{
	const char *origin = berth_exchange_header(request, "Origin");

	if (request->method == BERTH_METHOD_GET)
		return true;
	return origin ? berth_auth_is_our_origin(origin, berth_http_port(api->http)) : bearer_of(request) != NULL;
}

static bool check_tcp(const struct berth_api *api, struct berth_exchange *request, bool is_open)
{
	const struct berth_refusal bad_host = {MHD_HTTP_FORBIDDEN, "BadHost", NULL,
	                                       "Open the page by its own address, http://127.0.0.1 and the port."};
	const struct berth_refusal bad_origin = {MHD_HTTP_FORBIDDEN, "BadOrigin", NULL,
	                                         "Use berth's own page, the command line, or a Bearer token."};

	if (!berth_auth_is_our_host(berth_exchange_header(request, "Host"), berth_http_port(api->http))) {
		berth_reply_error(request, &bad_host, "The request was meant for another host.");
		return false;
	}
	if (is_open)
		return true;
	if (!is_signed_in(api, request)) {
		refuse_stranger(request);
		return false;
	}
	if (!is_from_us(api, request)) {
		berth_reply_error(request, &bad_origin, "The request came from another site's page.");
		return false;
	}
	return true;
}

static bool is_welcome(const struct berth_api *api, uid_t uid)
{
	return uid == api->host.uid || uid == 0;
}

static bool check_user(const struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_refusal refusal = {MHD_HTTP_FORBIDDEN, "NotYourDaemon", NULL,
	                                      "It runs jobs as its owner, so nobody else may use it. Start your own "
	                                      "with `berthd`, or ask the owner to run the command for you."};
	/* Whose session it is, and whose program sends it: a stolen one is of no use to other users of the machine. */
	const bool is_own_program = !request->is_tcp || !request->is_peer_told || is_welcome(api, request->peer_uid);
	const uid_t stranger = is_own_program ? request->uid : request->peer_uid;

	if (is_own_program && is_welcome(api, request->uid))
		return true;
	if (stranger == (uid_t)-1)
		berth_reply_error(request, &refusal,
		                  "This berth belongs to %s (uid %u); the program that asks is gone already.",
		                  api->owner, (unsigned)api->host.uid);
	else
		berth_reply_error(request, &refusal, "This berth belongs to %s (uid %u); you are uid %u.", api->owner,
		                  (unsigned)api->host.uid, (unsigned)stranger);
	return false;
}

static bool check_route(struct berth_exchange *request, const struct route *route, unsigned methods)
{
	const struct berth_refusal unknown = {MHD_HTTP_NOT_FOUND, "NoSuchPath", NULL,
	                                      "docs/api.md lists the paths; all but the page begin with /api/v1/."};
	const struct berth_refusal method = {MHD_HTTP_METHOD_NOT_ALLOWED, "MethodNotAllowed", NULL, NULL};
	const struct berth_refusal local = {MHD_HTTP_FORBIDDEN, "UnixSocketOnly", NULL,
	                                    "Use the command line, which talks to the unix socket."};
	static const char *const names[BERTH_METHOD_COUNT] = {
		[BERTH_METHOD_GET] = "GET", [BERTH_METHOD_POST] = "POST", [BERTH_METHOD_PATCH] = "PATCH"};
	char allow[32] = "";

	if (!route && methods == 0) {
		berth_reply_error(request, &unknown, "There is nothing at %.200s.", request->path);
		return false;
	}
	if (!route) {
		for (unsigned i = BERTH_METHOD_GET; i < BERTH_METHOD_COUNT; i++)
			if (methods >> i & 1)
				(void)snprintf(allow + strlen(allow), sizeof(allow) - strlen(allow), "%s%s",
				               allow[0] ? ", " : "", names[i]);
		berth_reply_error(request, &method, "%.200s takes %s.", request->path, allow);
		berth_reply_header(request, "Allow", allow);
		return false;
	}
	if ((route->needs & NEEDS_UNIX) && request->is_tcp) {
		berth_reply_error(request, &local, "%.200s is served on the unix socket only.", request->path);
		return false;
	}
	return true;
}

struct query_check {
	const struct route *route;
	char bad[48]; /* the first name that is not allowed */
};

static enum MHD_Result check_name(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct query_check *check = arg;
	char word[48];

	(void)snprintf(word, sizeof(word), " %.40s ", name);
	if ((!value && name[0]) || !check->route->query || !strstr(check->route->query, word)) {
		(void)snprintf(check->bad, sizeof(check->bad), "%.40s", name);
		return MHD_NO;
	}
	return MHD_YES;
}

/* A parameter that would do nothing is refused: it was meant to do something. */
static bool check_query(struct berth_exchange *request, const struct route *route)
{
	const struct berth_refusal refusal = {MHD_HTTP_BAD_REQUEST, "BadQuery", NULL, NULL};
	struct query_check check = {.route = route};

	(void)MHD_get_connection_values(request->mhd, MHD_GET_ARGUMENT_KIND, check_name, &check);
	if (check.bad[0] == '\0')
		return true;
	if (route->query)
		berth_reply_error(request, &refusal, "\"?%s=\" is not known here; allowed are:%s.", check.bad,
		                  route->query);
	else
		berth_reply_error(request, &refusal, "\"?%s=\" is not known here: %s takes no parameters.", check.bad,
		                  route->path);
	return false;
}

static bool check_size(struct berth_exchange *request)
{
	const struct berth_refusal refusal = {MHD_HTTP_CONTENT_TOO_LARGE, "TooLarge", NULL,
	                                      "Submit fewer jobs at once."};
	const char *length = berth_exchange_header(request, "Content-Length");
	uint64_t n;

	if (!length || (berth_number_parse(length, "length", 0, UINT64_MAX, &n, NULL) == 0 && n <= BERTH_HTTP_BODY_MAX))
		return true;
	berth_reply_error(request, &refusal, "The request has more than %u MB.", BERTH_HTTP_BODY_MAX >> 20);
	return false;
}

void berth_routes_begin(void *arg, struct berth_exchange *request)
{
	const struct berth_refusal bad_path = {MHD_HTTP_BAD_REQUEST, "BadPath", NULL, NULL};
	const struct berth_refusal no_memory = {MHD_HTTP_SERVICE_UNAVAILABLE, "NoMemory", NULL, NULL};
	struct berth_api *api = arg;
	const char *part = NULL;
	unsigned methods;
	size_t n = 0;
	const struct route *route = find(request, &part, &n, &methods);
	const bool is_open = route && (route->needs & NEEDS_NOTHING);

	if (request->is_bad_path) {
		berth_reply_error(request, &bad_path, "The path holds a NUL.");
		return;
	}
	if (request->is_tcp && !check_tcp(api, request, is_open))
		return;
	if (!is_open && !check_user(api, request))
		return;
	if (!check_route(request, route, methods) || !check_query(request, route) || !check_size(request))
		return;
	request->route = route;
	if (n > 0)
		request->arg = strndup(part, n);
	if (n > 0 && !request->arg)
		berth_reply_error(request, &no_memory, "The daemon has no memory for this now.");
}

void berth_routes_handle(void *arg, struct berth_exchange *request)
{
	const struct route *route = request->route;

	route->handle(arg, request);
}
