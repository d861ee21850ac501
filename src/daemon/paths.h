#ifndef BERTH_DAEMON_PATHS_H
#define BERTH_DAEMON_PATHS_H
/* Where things lie: the user's directories, and the other programs of berth. */
#include <stdbool.h>
#include <sys/types.h>
#include "base/error.h"

#define BERTH_PATH_MAX 4096

/* What the places depend on; strings borrowed, NULL = not set. */
struct berth_surroundings {
	uid_t uid;
	const char *home;                                   /* $HOME, else from the password file */
	const char *config_home, *state_home, *runtime_dir; /* $XDG_…; ignored unless absolute, as the XDG rules want */
	const char *cwd;                                    /* for relative paths on the command line */
};

struct berth_paths {
	char config[BERTH_PATH_MAX]; /* given, or $XDG_CONFIG_HOME/berth/berth.yaml */
	char state[BERTH_PATH_MAX];  /* given, or $XDG_STATE_HOME/berth */
	char socket[108]; /* given, or $XDG_RUNTIME_DIR/berth/berth.sock, or /tmp/berth-UID/berth.sock: where `berth`
	                     looks too */
	bool is_config_given, is_state_given, is_socket_given;
};

/* Work out the paths, all absolute; config, state, socket: from the command line or NULL. Makes nothing.
 * -EINVAL no home directory, or too long (a unix socket's path has at most 107 bytes): err says which and what to give.
 */
BERTH_MUST_USE int berth_paths_find(const struct berth_surroundings *around, const char *config, const char *state,
                                    const char *socket, struct berth_paths *ret, struct berth_error *err);
/* Make the state directory, private, and the directory of a socket in its usual place, private too: others could make
 * /tmp/berth-UID first. That of a socket that was given is checked by the API, which binds it. */
BERTH_MUST_USE int berth_paths_make(const struct berth_paths *paths, struct berth_error *err);

/* Where this program lies. */
struct berth_program_dirs {
	char libexec[BERTH_PATH_MAX]; /* $BERTH_LIBEXEC; "" = not set */
	char called[BERTH_PATH_MAX];  /* the folder by whose name it was started: links are not followed */
	char real[BERTH_PATH_MAX];    /* the folder where it truly lies */
};
void berth_program_dirs_find(struct berth_program_dirs *ret);
/* The program NAME of berth ("berth-exec"), which lies in room/ of the build's tree: searched in libexec when that is
 * set and nowhere else; else beside this program by either name, in ../room beside it, in ../libexec/berth. Needs to be
 * an executable file. -ENOENT with the places looked at. */
BERTH_MUST_USE int berth_program_find(const struct berth_program_dirs *dirs, const char *name, const char *room,
                                      char *ret, size_t cap, struct berth_error *err);
#endif
