#include "api/auth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include "base/units.h"

#define SECRET 32u
#define HEX (2 * SECRET)
#define LINKS 16u
#define KEY_SETTING "session_key"

struct link {
	uint8_t hash[SHA256_DIGEST_SIZE];
	uint64_t until_ms; /* 0 = none */
};

struct berth_auth {
	uint8_t key[SECRET];
	struct link link[LINKS];
};

static void hex_of(const uint8_t *bytes, size_t n, char *ret)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digits[bytes[i] >> 4];
		ret[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret[2 * n] = '\0';
}

static int bytes_of(const char *hex, uint8_t *ret, size_t n)
{
	if (strlen(hex) != 2 * n || strspn(hex, "0123456789abcdef") != 2 * n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		ret[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return 0;
}

/* 256 random bits and their hex digits. */
static int make_secret(uint8_t ret[static SECRET], char ret_hex[static HEX + 1])
{
	if (getrandom(ret, SECRET, 0) != SECRET)
		return -EIO;
	hex_of(ret, SECRET, ret_hex);
	return 0;
}

static int load_key(struct berth_auth *auth, struct berth_store *store, struct berth_error *err)
{
	BERTH_AUTO_FREE char *kept = NULL;
	char hex[HEX + 1];
	int r = berth_store_setting_get(store, KEY_SETTING, &kept);

	if (r == 0 && kept)
		return bytes_of(kept, auth->key, SECRET) == 0
		               ? 0
		               : berth_error_set(err, -EBADMSG, "the stored key of web sessions is damaged");
	if (r < 0 && r != -ENOENT)
		return berth_error_errno(err, r, "read the key of web sessions");
	r = make_secret(auth->key, hex);
	if (r == 0)
		r = berth_store_setting_put(store, KEY_SETTING, hex);
	return r < 0 ? berth_error_errno(err, r, "make a key for web sessions") : 0;
}

int berth_auth_open(struct berth_store *store, struct berth_auth **ret, struct berth_error *err)
{
	BERTH_AUTO_FREE struct berth_auth *auth = calloc(1, sizeof(*auth));
	int r;

	if (!auth)
		return berth_error_errno(err, -ENOMEM, "open web sessions");
	r = load_key(auth, store, err);
	if (r < 0)
		return r;
	*ret = BERTH_TAKE(auth);
	return 0;
}

void berth_auth_close(struct berth_auth *auth)
{
	if (auth)
		explicit_bzero(auth, sizeof(*auth));
	free(auth);
}

static void hash_of(const char *word, uint8_t ret[static SHA256_DIGEST_SIZE])
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, strlen(word), (const uint8_t *)word);
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, ret);
}

char *berth_auth_link_make(struct berth_auth *auth, uint64_t now_ms)
{
	struct link *oldest = &auth->link[0];
	uint8_t secret[SECRET];
	char *word = malloc(HEX + 1);

	if (!word || make_secret(secret, word) < 0) {
		free(word);
		return NULL;
	}
	for (size_t i = 1; i < LINKS; i++)
		if (auth->link[i].until_ms < oldest->until_ms)
			oldest = &auth->link[i];
	hash_of(word, oldest->hash);
	oldest->until_ms = now_ms + BERTH_LINK_LIFE_MS;
	return word;
}

/* All are looked at, so that the time taken says nothing. */
bool berth_auth_link_use(struct berth_auth *auth, const char *word, uint64_t now_ms)
{
	uint8_t hash[SHA256_DIGEST_SIZE];
	bool is_good = false;

	hash_of(word, hash);
	for (size_t i = 0; i < LINKS; i++) {
		struct link *link = &auth->link[i];

		if (!memeql_sec(hash, link->hash, sizeof(hash)))
			continue;
		is_good = now_ms < link->until_ms;
		*link = (struct link){0};
	}
	return is_good;
}

/* What the mac of a session covers is the text before its last dot. */
static void mac_of(const struct berth_auth *auth, const char *text, size_t n, uint8_t ret[static SHA256_DIGEST_SIZE])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, SECRET, auth->key);
	hmac_sha256_update(&ctx, n, (const uint8_t *)text);
	hmac_sha256_digest(&ctx, SHA256_DIGEST_SIZE, ret);
}

char *berth_auth_session_make(struct berth_auth *auth, uid_t uid, uint64_t now_ms)
{
	uint8_t nonce[SECRET];
	uint8_t mac[SHA256_DIGEST_SIZE];
	char nonce_hex[HEX + 1];
	char mac_hex[2 * SHA256_DIGEST_SIZE + 1];
	char *session = NULL;
	char text[HEX + 64];
	int n;

	if (make_secret(nonce, nonce_hex) < 0)
		return NULL;
	n = snprintf(text, sizeof(text), "%u.%" PRIu64 ".%s", (unsigned)uid,
	             now_ms + BERTH_SESSION_LIFE_S * UINT64_C(1000), nonce_hex);
	mac_of(auth, text, (size_t)n, mac);
	hex_of(mac, sizeof(mac), mac_hex);
	return asprintf(&session, "%s.%s", text, mac_hex) < 0 ? NULL : session;
}

/* The number before the next dot; moves behind the dot. */
static int take_number(const char **at, uint64_t max, uint64_t *ret)
{
	const size_t n = strcspn(*at, ".");
	char digits[24];

	if (n == 0 || n >= sizeof(digits) || (*at)[n] != '.')
		return -EINVAL;
	memcpy(digits, *at, n);
	digits[n] = '\0';
	*at += n + 1;
	return berth_number_parse(digits, "number", 0, max, ret, NULL);
}

bool berth_auth_session_check(const struct berth_auth *auth, const char *session, uint64_t now_ms, uid_t *ret_uid)
{
	const char *dot = strrchr(session, '.');
	uint8_t given[SHA256_DIGEST_SIZE];
	uint8_t mac[SHA256_DIGEST_SIZE];
	const char *at = session;
	uint64_t uid;
	uint64_t until_ms;

	if (!dot || bytes_of(dot + 1, given, sizeof(given)) < 0)
		return false;
	mac_of(auth, session, (size_t)(dot - session), mac);
	if (!memeql_sec(mac, given, sizeof(mac)))
		return false;
	if (take_number(&at, UINT32_MAX - 1, &uid) < 0 || take_number(&at, UINT64_MAX, &until_ms) < 0 ||
	    now_ms >= until_ms)
		return false;
	*ret_uid = (uid_t)uid;
	return true;
}

/* "localhost", "[::1]", 127.x.y.z: names and numbers that no name server answers for. */
static bool is_loopback(const char *name)
{
	struct in_addr addr;

	if (strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, name, &addr) == 1 && ntohl(addr.s_addr) >> 24 == 127;
}

bool berth_auth_is_our_host(const char *host, uint16_t port)
{
	const char *colon = host ? strrchr(host, ':') : NULL;
	char name[64];
	uint64_t given;

	/* A browser leaves the port out when it is the scheme's own. */
	if (host && port == 80 && is_loopback(host))
		return true;
	if (!colon || (size_t)(colon - host) >= sizeof(name) ||
	    berth_number_parse(colon + 1, "port", 1, UINT16_MAX, &given, NULL) < 0)
		return false;
	memcpy(name, host, (size_t)(colon - host));
	name[colon - host] = '\0';
	return given == port && is_loopback(name);
}

bool berth_auth_is_our_origin(const char *origin, uint16_t port)
{
	static const char scheme[] = "http://";

	return origin && strncasecmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
	       berth_auth_is_our_host(origin + sizeof(scheme) - 1, port);
}
