#ifndef BERTH_API_ROUTES_H
#define BERTH_API_ROUTES_H
/* Which path is what, and who may come in: the one table of docs/api.md in code. */
#include "api/server.h"

/* Headers are here: find the route and let the request in, or answer why not (400, 401, 403, 404, 405, 413). */
void berth_routes_begin(void *arg, struct berth_exchange *request);
/* All is here: the route's handler answers. arg of both: the struct berth_api. */
void berth_routes_handle(void *arg, struct berth_exchange *request);

/* The path of table row i and whether it needs a session; NULL beyond the last. For tests that walk the table. */
const char *berth_routes_path(size_t i, enum berth_method *ret_method, bool *ret_is_open);
#endif
