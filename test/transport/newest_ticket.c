/* link_newest: the newest ticket that the client has published, on any lane. */
#include "test/transport/pair.h"

static int published[2]; /* a pipe: the client has published all frames */

static const char texts[][8] = {"same", "same", "same", "other", "other"};
#define FRAMES ((int)(sizeof texts / sizeof *texts))

static int serve(struct link *l)
{
	uint64_t newest;
	struct frame f;
	char c;

	CHECK_EQ(read(published[0], &c, 1), 1);
	for (int i = 0; i <= FRAMES; i++) {
		CHECK_EQ(link_next(l, &f, 60000), 0);
		CHECK(link_newest(l, &newest));
		CHECK_EQ(newest, FRAMES);
		if (i < FRAMES)
			CHECK(!memcmp(f.payload, texts[i], sizeof texts[i]));
	}
	return RESULT();
}

static void publish(struct lane *lane, const char *text)
{
	void *to;

	CHECK_EQ(lane_reserve(lane, sizeof texts[0], &to), 0);
	memcpy(to, text, sizeof texts[0]);
	CHECK_EQ(lane_post(lane, 1, sizeof texts[0], NULL, 0, NULL), 0);
}

int main(void)
{
	struct lane *one, *two;
	struct pair p;

	if (pipe(published) || pair_start(&p, false, serve, NULL, NULL))
		return 1;
	CHECK_EQ(lane_open(p.link, &one), 0);
	CHECK_EQ(lane_open(p.link, &two), 0);
	for (int i = 0; i < FRAMES; i++)
		publish(one, texts[i]);
	publish(two, texts[FRAMES - 1]);
	CHECK_EQ(write(published[1], "x", 1), 1);
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
	return RESULT();
}
