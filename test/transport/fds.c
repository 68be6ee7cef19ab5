/*
 * Descriptors travel in both directions, and their receiver finds them by id in any order. A flood of descriptors
 * blocks the sender; hundreds may be in flight, and none leaks.
 */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "test/transport/pair.h"

#define SOME  20
#define LIMIT 60000 /* ms */

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static int tagged(uint64_t id)
{
	int fd = memfd_create("tagged", MFD_CLOEXEC);

	CHECK_EQ(write(fd, &id, sizeof id), sizeof id);
	return fd;
}

static void check_tag(int fd, uint64_t id)
{
	uint64_t got = 0;

	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, &got, sizeof got, 0), sizeof got);
	CHECK(got == id);
	close(fd);
}

static int serve(struct link *l)
{
	struct frame f;

	CHECK_EQ(link_next(l, &f, LIMIT), 0);
	for (uint64_t id = SOME; id-- > 0;)
		check_tag(link_recv_fd(l, id, 0), id);
	CHECK_EQ(link_recv_fd(l, 1000, 10), -ETIMEDOUT);
	for (uint64_t id = 0; id < SOME; id++) {
		int fd = tagged(id);

		CHECK_EQ(link_send_fd(l, id, fd), 0);
		close(fd);
	}
	CHECK_EQ(link_next(l, &f, LIMIT), 0);
	return RESULT();
}

static void both_ways(void)
{
	struct lane *lane;
	struct pair p;
	void *to;

	CHECK_EQ(pair_start(&p, false, serve, NULL, NULL), 0);
	for (uint64_t id = 0; id < SOME; id++) {
		int fd = tagged(id);

		CHECK_EQ(link_send_fd(p.link, id, fd), 0);
		close(fd);
	}
	CHECK_EQ(lane_open(p.link, &lane), 0);
	CHECK_EQ(lane_reserve(lane, 0, &to), 0);
	CHECK_EQ(lane_post(lane, 0, 0, NULL, 0, NULL), 0);
	check_tag(link_recv_fd(p.link, SOME - 1, LIMIT), SOME - 1);
	for (uint64_t id = 0; id < SOME - 1; id++)
		check_tag(link_recv_fd(p.link, id, LIMIT), id);
	CHECK_EQ(lane_reserve(lane, 0, &to), 0);
	CHECK_EQ(lane_post(lane, 0, 0, NULL, 0, NULL), 0);
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
}

/* The server fetches none of them. */
static int serve_flooded(struct link *l)
{
	int before = count_fds();
	struct frame f;

	CHECK_EQ(link_next(l, &f, 200), -ETIMEDOUT);
	CHECK(count_fds() <= before + 257);
	return RESULT();
}

static void flood(void)
{
	struct pair p;
	int fd = tagged(0), err = 0;

	CHECK_EQ(pair_start(&p, false, serve_flooded, NULL, NULL), 0);
	for (int i = 0; i < 10000 && !err; i++)
		err = link_send_fd(p.link, (uint64_t)i, fd);
	CHECK_EQ(err, -EPIPE);
	close(fd);
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
}

/* More descriptors than any queue holds, each with a frame that names it; the server starts late. */
#define MANY 2000

static int serve_many(struct link *l)
{
	struct frame f;
	uint64_t id;

	usleep(50000);
	for (int i = 0; i < MANY && !failures; i++) {
		CHECK_EQ(link_next(l, &f, LIMIT), 0);
		memcpy(&id, f.payload, sizeof id);
		check_tag(link_recv_fd(l, id, 0), id);
	}
	return RESULT();
}

static void many(void)
{
	struct lane *lane;
	struct pair p;
	void *to;

	CHECK_EQ(pair_start(&p, false, serve_many, NULL, NULL), 0);
	CHECK_EQ(lane_open(p.link, &lane), 0);
	for (uint64_t id = 0; id < MANY && !failures; id++) {
		int fd = tagged(id);

		CHECK_EQ(link_send_fd(p.link, id, fd), 0);
		close(fd);
		CHECK_EQ(lane_reserve(lane, sizeof id, &to), 0);
		memcpy(to, &id, sizeof id);
		CHECK_EQ(lane_post(lane, 0, sizeof id, NULL, 0, NULL), 0);
	}
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
}

static int serve_none(struct link *l)
{
	struct frame f;

	CHECK_EQ(link_recv_fd(l, 0, 0), -ENOTSUP);
	return link_next(l, &f, LIMIT) != -EPIPE;
}

int main(void)
{
	int before = count_fds();
	struct pair p;

	both_ways();
	flood();
	many();
	CHECK_EQ(pair_start(&p, true, serve_none, NULL, NULL), 0);
	CHECK_EQ(link_send_fd(p.link, 0, 0), -ENOTSUP);
	CHECK_EQ(pair_end(&p), 0);
	CHECK_EQ(count_fds(), before);
	return RESULT();
}
