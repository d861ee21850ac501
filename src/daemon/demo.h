#ifndef BERTH_DAEMON_DEMO_H
#define BERTH_DAEMON_DEMO_H
/* The demonstration, berthd --demo: what `make run` starts.
 *
 * When the API is open and no job waits or runs, the example workload is submitted the way a user would do it: by
 * running examples/submit.sh with the `berth` that lies beside this program first in PATH. Then, on standard output:
 * which cards there are, the one-time link to the page, what to type next. When the daemon ends: that jobs run on, and
 * how to end them.
 */
struct berth_demo;
struct berth_server;

/* Begin: submits in a child process and welcomes when that ended. server borrowed, must outlive the demo. NULL when
 * memory is out. */
struct berth_demo *berth_demo_begin(struct berth_server *server);
/* Say good-bye. NULL allowed. */
void berth_demo_end(struct berth_demo *demo);
#endif
