/*
 * After kill -9 of either side, every wait of the other side soon returns -EPIPE. Frames published before still arrive;
 * descriptors and mappings are freed with the link. A child that the dead process left behind changes nothing.
 */
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>

#include "test/transport/pair.h"
#include "transport/private.h"

#define SOON_MS 10000 /* generous: the machine may be busy. The test prints the measured time. */

static struct link *link_;
static uint64_t killed;
static double worst;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t begun; /* posted by each thread before it waits */

static int count(const char *folder)
{
	DIR *dir = opendir(folder);
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (fgets(line, sizeof line, f))
		n += strstr(line, "gangway-") != NULL;
	fclose(f);
	return n;
}

static void noticed(void)
{
	uint64_t now = wait_now();
	double ms;

	pthread_mutex_lock(&lock);
	ms = (double)(now - killed) / 1e6;
	worst = ms > worst ? ms : worst;
	pthread_mutex_unlock(&lock);
}

/* ---- The server dies ---- */

static int serve_stuck(struct link *l)
{
	struct frame f;

	CHECK_EQ(link_next(l, &f, -1), 0);
	while (pause())
		;
	return 1;
}

static void *wait_reply(void *arg)
{
	struct lane *lane;
	struct frame f;

	CHECK_EQ(lane_open(link_, &lane), 0);
	sem_post(&begun);
	CHECK_EQ(lane_wait_reply(lane, &f, -1), -EPIPE);
	noticed();
	return arg;
}

static void *wait_room(void *arg)
{
	struct lane *lane;
	void *to;
	int err;

	CHECK_EQ(lane_open(link_, &lane), 0);
	sem_post(&begun);
	while (!(err = lane_reserve(lane, 100000, &to)))
		lane_post(lane, 0, 100000, NULL, 0, NULL);
	CHECK_EQ(err, -EPIPE);
	noticed();
	return arg;
}

static void *wait_word(void *arg)
{
	sem_post(&begun);
	CHECK_EQ(word_wait(link_, 3, 1, -1, NULL, NULL), -EPIPE);
	noticed();
	return arg;
}

static void *wait_fd(void *arg)
{
	int err;

	sem_post(&begun);
	err = link_recv_fd(link_, 1, -1);
	CHECK(err == -EPIPE || err == -ENOTSUP);
	if (err == -EPIPE)
		noticed();
	return arg;
}

static void server_dies(bool tcp)
{
	void *(*waits[])(void *) = {wait_reply, wait_room, wait_word, wait_fd};
	char text[LINK_ERROR_TEXT];
	struct lane *lane;
	pthread_t ids[4];
	struct pair p;
	void *to;

	CHECK_EQ(pair_start(&p, tcp, serve_stuck, NULL, NULL), 0);
	link_ = p.link;
	sem_init(&begun, 0, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, waits[i], NULL);
	for (int i = 0; i < 4; i++)
		sem_wait(&begun);
	usleep(100000); /* most threads are asleep by then */
	CHECK_EQ(lane_open(p.link, &lane), 0);
	pthread_mutex_lock(&lock);
	killed = wait_now();
	worst = 0;
	pthread_mutex_unlock(&lock);
	kill(p.child, SIGKILL);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	CHECK(worst < SOON_MS);
	printf("%s: noticed a dead server after %.2f ms\n", tcp ? "tcp" : "unix", worst);
	CHECK_EQ(lane_reserve(lane, 0, &to), -EPIPE);
	CHECK_EQ(link_error(p.link, text), -EPIPE);
	CHECK(text[0]);
	CHECK_EQ(pair_end(&p), 1000 + SIGKILL);
}

/* ---- The client dies ---- */

#define BEFORE 1000

/* A client process that publishes some frames, reports, and waits to be killed; it may leave a child behind. */
static pid_t start_client(const char *address, bool leave_child, int tell)
{
	struct link_config config = link_defaults(false);
	pid_t child = fork();
	struct lane *lane;
	struct link *l;
	void *to;

	if (child)
		return child;
	if (link_connect(&l, address, &config, NULL) || lane_open(l, &lane))
		_exit(1);
	for (int i = 0; i < BEFORE; i++)
		if (lane_reserve(lane, 8, &to) || lane_post(lane, 0, 8, NULL, 0, NULL))
			_exit(1);
	while (l->tcp_link && load_acquire(&l->control->done) < BEFORE)
		usleep(1000); /* wait until the frames have left this process */
	if (leave_child && !(child = fork())) {
		close(tell);
		sleep(2 * SOON_MS / 1000); /* the test kills it earlier */
		_exit(0);
	}
	if (write(tell, &child, sizeof child) != sizeof child)
		_exit(1);
	for (;;)
		pause();
}

static void client_dies(bool tcp, bool leave_child)
{
	struct link_config config = link_defaults(true);
	int listener, tell[2], n = 0, err;
	struct pair p;
	struct frame f;
	pid_t child, left;

	CHECK(!pair_listen(&p, tcp, &listener) && !pipe(tell));
	child = start_client(p.address, leave_child, tell[1]);
	CHECK_EQ(link_serve(&p.link, link_accept(listener), &config, NULL), 0);
	CHECK_EQ(read(tell[0], &left, sizeof left), sizeof left);
	while (n < BEFORE / 2 && !link_next(p.link, &f, -1))
		n++;
	killed = wait_now();
	kill(child, SIGKILL);
	while (!(err = link_next(p.link, &f, -1)))
		n++;
	worst = (double)(wait_now() - killed) / 1e6;
	CHECK_EQ(err, -EPIPE);
	CHECK_EQ(n, BEFORE);
	CHECK(worst < SOON_MS);
	printf("%s: noticed a dead client after %.2f ms\n", tcp ? "tcp" : "unix", worst);
	p.child = child;
	CHECK_EQ(pair_end(&p), 1000 + SIGKILL);
	if (leave_child)
		kill(left, SIGKILL);
	pair_unlisten(&p, listener);
	close(tell[0]);
	close(tell[1]);
}

/* ---- Other ends ---- */

static int serve_until_end(struct link *l)
{
	struct frame f;
	int err;

	while (!(err = link_next(l, &f, -1)))
		;
	return err == -EPIPE ? 0 : 1;
}

/* A forked child drops its copy of the link; the parent's link continues. */
static void forked(bool tcp)
{
	struct lane *lane;
	struct pair p;
	void *to;
	int status;
	pid_t child;

	CHECK_EQ(pair_start(&p, tcp, serve_until_end, NULL, NULL), 0);
	CHECK_EQ(lane_open(p.link, &lane), 0);
	child = fork();
	if (!child) {
		link_destroy(p.link);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	usleep(20000);
	CHECK_EQ(lane_reserve(lane, 0, &to), 0);
	CHECK_EQ(lane_post(lane, 0, 0, NULL, 0, NULL), 0);
	CHECK_EQ(link_error(p.link, NULL), 0);
	CHECK_EQ(pair_end(&p), 0);
}

static sem_t seen; /* posted after the interruption */

static void *interrupt(void *arg)
{
	usleep(50000);
	link_interrupt(arg);
	sem_wait(&seen);
	usleep(50000);
	link_shutdown(arg);
	return NULL;
}

static int serve_interrupted(struct link *l)
{
	pthread_t id;
	struct frame f;

	sem_init(&seen, 0, 0);
	pthread_create(&id, NULL, interrupt, l);
	CHECK_EQ(link_next(l, &f, -1), -EINTR);
	sem_post(&seen);
	CHECK_EQ(link_next(l, &f, -1), -EPIPE);
	pthread_join(id, NULL);
	return RESULT();
}

static void interrupted(bool tcp)
{
	struct pair p;

	CHECK_EQ(pair_start(&p, tcp, serve_interrupted, NULL, NULL), 0);
	CHECK_EQ(word_wait(p.link, 0, 1, 2 * SOON_MS, NULL, NULL), -EPIPE);
	CHECK_EQ(pair_end(&p), 0);
}

int main(void)
{
	int fds = count("/proc/self/fd");

	for (int tcp = 0; tcp < 2; tcp++) {
		server_dies(tcp);
		client_dies(tcp, false);
		forked(tcp);
		interrupted(tcp);
	}
	client_dies(false, true);
	CHECK_EQ(count("/proc/self/fd"), fds);
	CHECK_EQ(count_maps(), 0);
	return RESULT();
}
