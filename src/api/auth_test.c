#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "api/auth.h"
#include "api/double_test.h"

#define NOW_MS UINT64_C(1796000000000)

struct fixture {
	struct berth_ledger *ledger;
	struct berth_auth *auth;
};

static int set_up(void **state)
{
	const struct berth_ledger_host host = {0};
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(berth_ledger_open("", &host, &fixture->ledger, NULL), 0);
	assert_int_equal(berth_auth_open(berth_ledger_store(fixture->ledger), &fixture->auth, NULL), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	berth_auth_close(fixture->auth);
	berth_ledger_close(fixture->ledger);
	free(fixture);
	return 0;
}

static void test_a_link_is_good_once(void **state)
{
	struct berth_auth *auth = ((struct fixture *)*state)->auth;
	BERTH_AUTO_FREE char *word = berth_auth_link_make(auth, NOW_MS);
	BERTH_AUTO_FREE char *other = berth_auth_link_make(auth, NOW_MS);

	assert_int_equal(strlen(word), 64);
	assert_string_not_equal(word, other);
	assert_true(berth_auth_link_use(auth, word, NOW_MS + 1));
	assert_false(berth_auth_link_use(auth, word, NOW_MS + 2));
	assert_true(berth_auth_link_use(auth, other, NOW_MS + 3));
}

static void test_a_link_expires(void **state)
{
	struct berth_auth *auth = ((struct fixture *)*state)->auth;
	BERTH_AUTO_FREE char *late = berth_auth_link_make(auth, NOW_MS);
	BERTH_AUTO_FREE char *timely = berth_auth_link_make(auth, NOW_MS);

	assert_false(berth_auth_link_use(auth, late, NOW_MS + BERTH_LINK_LIFE_MS));
	assert_true(berth_auth_link_use(auth, timely, NOW_MS + BERTH_LINK_LIFE_MS - 1));
	/* A try too late uses it up as well. */
	assert_false(berth_auth_link_use(auth, late, NOW_MS));
}

static void test_wrong_words_are_refused(void **state)
{
	struct berth_auth *auth = ((struct fixture *)*state)->auth;
	BERTH_AUTO_FREE char *word = berth_auth_link_make(auth, NOW_MS);

	assert_false(berth_auth_link_use(auth, "", NOW_MS));
	assert_false(berth_auth_link_use(auth, "0", NOW_MS));
	word[63] = word[63] == '0' ? '1' : '0';
	assert_false(berth_auth_link_use(auth, word, NOW_MS));
}

static void test_the_oldest_link_gives_way(void **state)
{
	struct berth_auth *auth = ((struct fixture *)*state)->auth;
	char *words[17];

	for (size_t i = 0; i < 17; i++) {
		words[i] = berth_auth_link_make(auth, NOW_MS + i);
		assert_non_null(words[i]);
	}
	assert_false(berth_auth_link_use(auth, words[0], NOW_MS + 20));
	for (size_t i = 1; i < 17; i++)
		assert_true(berth_auth_link_use(auth, words[i], NOW_MS + 20));
	for (size_t i = 0; i < 17; i++)
		free(words[i]);
}

static void test_a_session_says_who(void **state)
{
	struct berth_auth *auth = ((struct fixture *)*state)->auth;
	BERTH_AUTO_FREE char *session = berth_auth_session_make(auth, 1000, NOW_MS);
	const uint64_t end_ms = NOW_MS + BERTH_SESSION_LIFE_S * UINT64_C(1000);
	uid_t uid = 77;

	assert_true(berth_auth_session_check(auth, session, NOW_MS, &uid));
	assert_int_equal(uid, 1000);
	assert_true(berth_auth_session_check(auth, session, end_ms - 1, &uid));
	assert_false(berth_auth_session_check(auth, session, end_ms, &uid));
}

/* Whatever character is changed, the session is no longer ours: neither another uid nor a later end can be written in.
 */
static void test_no_character_can_be_changed(void **state)
{
	struct berth_auth *auth = ((struct fixture *)*state)->auth;
	BERTH_AUTO_FREE char *session = berth_auth_session_make(auth, 1000, NOW_MS);
	uid_t uid;

	for (size_t i = 0; session[i]; i++) {
		const char was = session[i];

		session[i] = was == '1' ? '2' : '1';
		assert_false(berth_auth_session_check(auth, session, NOW_MS, &uid));
		session[i] = was;
	}
	assert_true(berth_auth_session_check(auth, session, NOW_MS, &uid));
	session[strlen(session) - 1] = '\0';
	assert_false(berth_auth_session_check(auth, session, NOW_MS, &uid));
}

static void test_nonsense_is_no_session(void **state)
{
	struct berth_auth *auth = ((struct fixture *)*state)->auth;
	static const char *const nonsense[] = {
		"",
		".",
		"...",
		"0.0.0.0",
		"1000",
		"1000.99999999999999",
		"x.y.z.0123456789abcdef",
		"1000.1.0.0000000000000000000000000000000000000000000000000000000000000000"};
	uid_t uid;

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		assert_false(berth_auth_session_check(auth, nonsense[i], 0, &uid));
}

/* An open page goes on after a restart of the daemon, and not with another daemon. */
static void test_sessions_outlive_a_restart(void **state)
{
	struct fixture *fixture = *state;
	const struct berth_ledger_host host = {0};
	BERTH_AUTO_FREE char *session = berth_auth_session_make(fixture->auth, 1000, NOW_MS);
	struct berth_ledger *other_ledger;
	struct berth_auth *other;
	uid_t uid;

	berth_auth_close(fixture->auth);
	fixture->auth = NULL;
	assert_int_equal(berth_auth_open(berth_ledger_store(fixture->ledger), &fixture->auth, NULL), 0);
	assert_true(berth_auth_session_check(fixture->auth, session, NOW_MS, &uid));
	assert_int_equal(berth_ledger_open("", &host, &other_ledger, NULL), 0);
	assert_int_equal(berth_auth_open(berth_ledger_store(other_ledger), &other, NULL), 0);
	assert_false(berth_auth_session_check(other, session, NOW_MS, &uid));
	berth_auth_close(other);
	berth_ledger_close(other_ledger);
}

static void test_a_damaged_key_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct berth_store *store = berth_ledger_store(fixture->ledger);
	struct berth_auth *auth = NULL;
	struct berth_error err = {0};

	assert_int_equal(berth_store_setting_put(store, "session_key", "abc"), 0);
	assert_int_equal(berth_auth_open(store, &auth, &err), -EBADMSG);
	assert_null(auth);
	assert_non_null(strstr(err.text, "key"));
}

static void test_hosts(void **state)
{
	static const char *const ours[] = {"127.0.0.1:8477", "localhost:8477", "LOCALHOST:8477", "[::1]:8477",
	                                   "127.0.0.2:8477"};
	static const char *const others[] = {
		"127.0.0.1",           "localhost",  "127.0.0.1:80", "evil.example:8477", "127.0.0.1.evil.example:8477",
		"localhost.evil:8477", "",           ":8477",        "127.0.0.1:8477x",   "127.0.0.1:08477 ",
		"128.0.0.1:8477",      "[::2]:8477", "0.0.0.0:8477", "127.1:8477",        "localhost:8477@evil"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_true(berth_auth_is_our_host(ours[i], 8477));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(berth_auth_is_our_host(others[i], 8477));
	assert_false(berth_auth_is_our_host(NULL, 8477));
	assert_true(berth_auth_is_our_host("localhost", 80));
	assert_false(berth_auth_is_our_host("evil.example", 80));
}

static void test_origins(void **state)
{
	static const char *const others[] = {"https://127.0.0.1:8477",
	                                     "http://evil.example",
	                                     "null",
	                                     "",
	                                     "127.0.0.1:8477",
	                                     "http://127.0.0.1:8478",
	                                     "http://127.0.0.1:8477/",
	                                     "http://evil@127.0.0.1:8477"};

	assert_true(berth_auth_is_our_origin("http://127.0.0.1:8477", 8477));
	assert_true(berth_auth_is_our_origin("http://localhost:8477", 8477));
	assert_false(berth_auth_is_our_origin(NULL, 8477));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(berth_auth_is_our_origin(others[i], 8477));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_link_is_good_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_link_expires, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wrong_words_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_oldest_link_gives_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_session_says_who, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_character_can_be_changed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense_is_no_session, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sessions_outlive_a_restart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_damaged_key_is_refused, set_up, tear_down),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_origins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
