#ifndef BERTH_API_AUTH_H
#define BERTH_API_AUTH_H
/* Who may come in over TCP: one-time links, sessions, and the checks that keep other sites' pages out.
 *
 * A link is 256 random bits, good once and for ten minutes; only its SHA-256 is kept, in memory. It is traded for a
 * session, which is `uid.expiry.nonce.mac` under a key that the store keeps: it outlives a restart of the daemon, so
 * that an open page goes on by itself, and nothing that is kept can be used to sign in. Secrets are compared in
 * constant time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"
#include "store/store.h"

#define BERTH_COOKIE "berth"
#define BERTH_LINK_LIFE_MS (10 * 60000u)
#define BERTH_SESSION_LIFE_S (7 * 86400u)

struct berth_auth;

/* The key is read from the store's settings, or made and kept there. store: borrowed for the call. -errno with err. */
BERTH_MUST_USE int berth_auth_open(struct berth_store *store, struct berth_auth **ret, struct berth_error *err);
void berth_auth_close(struct berth_auth *auth); /* NULL allowed */

/* A fresh link word (64 hex digits), allocated; NULL on -ENOMEM or without random numbers. At most 16 are open; the
 * oldest gives way. now_ms: core clock. */
char *berth_auth_link_make(struct berth_auth *auth, uint64_t now_ms);
/* Was this an open link? It is not any more. */
bool berth_auth_link_use(struct berth_auth *auth, const char *word, uint64_t now_ms);

/* A session for uid, allocated; NULL as above. */
char *berth_auth_session_make(struct berth_auth *auth, uid_t uid, uint64_t now_ms);
/* Whose session it is. false: not ours, or over. */
bool berth_auth_session_check(const struct berth_auth *auth, const char *session, uint64_t now_ms, uid_t *ret_uid);

/* Host header: loopback with our port ("127.0.0.1:8477", "localhost:8477", "[::1]:8477")? NULL is not. Against DNS
 * rebinding. */
bool berth_auth_is_our_host(const char *host, uint16_t port);
/* Origin header: "http://" and the same. Against other sites' pages. */
bool berth_auth_is_our_origin(const char *origin, uint16_t port);
#endif
