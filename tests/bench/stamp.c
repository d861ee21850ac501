/* The job of the latency figures: writes the time at which it runs, CLOCK_MONOTONIC in nanoseconds, to a FIFO.
 *
 * stamp FIFO */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timespec now;
	char line[32];
	int fd, n;

	clock_gettime(CLOCK_MONOTONIC, &now);
	fd = argc == 2 ? open(argv[1], O_WRONLY | O_CLOEXEC) : -1;
	n = snprintf(line, sizeof(line), "%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	return fd >= 0 && write(fd, line, (size_t)n) == n ? 0 : 1;
}
