/* An inference service: a small network answers requests on a unix socket. A client of its own asks it, one request
 * after the other, and the service tells how long an answer takes. It ends when asked, or after its amount of work. */
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "checkpoint.h"

#define DIM 64
#define LAYERS 16
#define CLIENTS_MAX 15
#define REQUESTS_PER_SECOND 8000u
#define TOOK_US_MAX 4096 /* longer ones count as this */
#define POLL_MS 100

/* A request carries how long the one before it took, as its client saw it. */
struct request {
	uint32_t took_us;
	float x[DIM];
};
struct response {
	float y[DIM];
};

/* All that a checkpoint holds: how many were served, and what all answers add up to. */
struct state {
	uint64_t served;
	double sum;
};

struct service {
	float weight[LAYERS][DIM][DIM];
	uint32_t n_took[TOOK_US_MAX + 1];  /* answers by the microseconds they took */
	struct pollfd at[CLIENTS_MAX + 1]; /* [0]: the listening socket */
	nfds_t n;
	struct state state;
};

static void infer(const struct service *service, const float x[DIM], float y[DIM])
{
	float from[DIM];

	memcpy(y, x, sizeof(from));
	for (unsigned l = 0; l < LAYERS; l++) {
		memcpy(from, y, sizeof(from));
		for (unsigned i = 0; i < DIM; i++) {
			float sum = 0;

			for (unsigned k = 0; k < DIM; k++)
				sum += service->weight[l][i][k] * from[k];
			y[i] = tanhf(sum);
		}
	}
}

/* An abstract address, so that nothing is left behind. */
static socklen_t address(pid_t server, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
	                   (size_t)snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "berth-serve-%d",
	                                    (int)server));
}

static uint64_t clock_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Ask from request number first on, until the service ends. */
static int be_client(pid_t server, uint64_t first)
{
	struct sockaddr_un to;
	const socklen_t len = address(server, &to);
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct request request = {0};
	struct response response;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, len) < 0)
		return 1;
	for (uint64_t n = first;; n++) {
		uint64_t began_us;

		for (unsigned i = 0; i < DIM; i++)
			request.x[i] = random_normal(3, n * DIM + i);
		began_us = clock_us();
		if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) < 0 ||
		    recv(fd, &response, sizeof(response), 0) != (ssize_t)sizeof(response))
			return 0;
		request.took_us = (uint32_t)(clock_us() - began_us);
	}
}

static bool open_service(struct service *service)
{
	struct sockaddr_un here;
	const socklen_t len = address(getpid(), &here);
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	float *w = &service->weight[0][0][0];

	for (size_t i = 0; i < sizeof(service->weight) / sizeof(float); i++)
		w[i] = random_normal(1, i) / 6.0f;
	service->at[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	service->n = 1;
	return fd >= 0 && bind(fd, (const struct sockaddr *)&here, len) == 0 && listen(fd, CLIENTS_MAX) == 0;
}

static void welcome(struct service *service)
{
	const int fd = accept4(service->at[0].fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (service->n > CLIENTS_MAX)
		(void)close(fd);
	else
		service->at[service->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* One request of client i, or its leaving. */
static void answer(struct service *service, nfds_t i)
{
	struct request request;
	struct response response;

	if (recv(service->at[i].fd, &request, sizeof(request), MSG_DONTWAIT) == (ssize_t)sizeof(request)) {
		infer(service, request.x, response.y);
		if (send(service->at[i].fd, &response, sizeof(response), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
			service->n_took[request.took_us < TOOK_US_MAX ? request.took_us : TOOK_US_MAX]++;
			service->state.sum += (double)response.y[0];
			service->state.served++;
			return;
		}
	}
	(void)close(service->at[i].fd);
	service->at[i] = service->at[--service->n];
}

static unsigned quantile_us(const struct service *service, unsigned percent)
{
	uint64_t n = 0;
	uint64_t sum = 0;
	unsigned us = 0;

	for (unsigned i = 0; i <= TOOK_US_MAX; i++)
		n += service->n_took[i];
	while (us < TOOK_US_MAX && (sum += service->n_took[us]) * 100 < n * percent)
		us++;
	return us;
}

static void serve(struct job *job, struct service *service, uint64_t total)
{
	char text[64];

	while (service->state.served < total && !job_should_stop(job)) {
		if (poll(service->at, service->n, POLL_MS) < 0)
			continue;
		for (nfds_t i = service->n - 1; i > 0; i--)
			if (service->at[i].revents && service->state.served < total)
				answer(service, i);
		if (service->at[0].revents)
			welcome(service);
		if (service->state.served % 256 != 0 && service->state.served != total)
			continue;
		(void)snprintf(text, sizeof(text), "p50 %u us, p99 %u us", quantile_us(service, 50),
		               quantile_us(service, 99));
		job_say(job, service->state.served, total, text);
	}
}

int main(int argc, char **argv)
{
	static struct service service;
	struct job job;
	uint64_t total;
	pid_t client;

	if (!job_begin(&job, "serve", argc, argv))
		return 2;
	total = (uint64_t)job.seconds * REQUESTS_PER_SECOND;
	if (!open_service(&service)) {
		perror("serve: opening the socket");
		return 1;
	}
	if (checkpoint_load(&job, &service.state, sizeof(service.state)))
		(void)printf("resuming at step %" PRIu64 "\n", service.state.served);
	client = fork();
	if (client < 0) {
		perror("serve: starting the client");
		return 1;
	}
	if (client == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(be_client(getppid(), service.state.served));
	}
	serve(&job, &service, total);
	for (nfds_t i = 0; i < service.n; i++)
		(void)close(service.at[i].fd);
	(void)waitpid(client, NULL, 0);
	if (service.state.served < total) {
		(void)printf("asked to stop at step %" PRIu64 "\n", service.state.served);
		return checkpoint_save(&job, &service.state, sizeof(service.state)) ? 0 : 1;
	}
	(void)printf("result: %" PRIu64 " requests, answers add up to %.9g\n", service.state.served, service.state.sum);
	job_done(&job);
	return 0;
}
