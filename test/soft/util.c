/*
 * Parts below the driver: handles (forged, and used by many threads), the ordered map against a plain array, and
 * CUDA_VISIBLE_DEVICES as NVIDIA documents it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "util/handle.h"
#include "util/map.h"
#include "cuda/visible.h"
#include "test/check.h"

static struct handle_table table = HANDLE_TABLE_INIT;
static _Atomic int released;

static void release(void *object)
{
	(void)object;
	released++;
}

static void handles(void)
{
	int a, b;
	uint64_t ha = handle_create(&table, 1, &a, release), hb = handle_create(&table, 2, &b, release), hc;

	CHECK(ha > 2 && hb > 2 && ha != hb);
	CHECK(handle_get(&table, ha, 1) == &a);
	CHECK(!handle_get(&table, ha, 2));
	CHECK(!handle_get(&table, hb, 1));
	CHECK(handle_close(&table, ha, 1));
	CHECK(!handle_close(&table, ha, 1));
	CHECK(!handle_get(&table, ha, 1));
	CHECK_EQ(released, 0); /* this function holds a reference */
	handle_put(&table, ha);
	CHECK_EQ(released, 1);
	hc = handle_create(&table, 1, &a, release); /* reuses the slot */
	CHECK(hc != ha && !handle_get(&table, ha, 1));
	CHECK(handle_close(&table, hc, 1));
	CHECK(handle_close(&table, hb, 2));
	CHECK_EQ(released, 3);
	for (int i = 0; i < 100000; i++) /* random numbers are never handles */
		CHECK(!handle_get(&table, (uint64_t)random() << 33 ^ (uint64_t)random() << 12 ^ random(), i % 8));
}

static _Atomic uint64_t target;
static _Atomic int stop;

static void *use_target(void *arg)
{
	(void)arg;
	while (!stop) {
		uint64_t h = target;
		int *x = handle_get(&table, h, 3);

		if (x) {
			CHECK_EQ(*x, 77); /* alive while the reference is held */
			handle_put(&table, h);
		}
	}
	return NULL;
}

static void poison(void *object)
{
	*(int *)object = 0;
	free(object);
}

static void races(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, use_target, NULL);
	for (int i = 0; i < 20000; i++) {
		int *x = malloc(sizeof *x);

		*x = 77;
		uint64_t h = handle_create(&table, 3, x, poison);
		target = h;
		CHECK(handle_close(&table, h, 3));
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static void ordered_map(void)
{
	enum { N = 600 };
	static struct map_node node[N];
	static char in[N];
	struct map m = {0};

	for (int step = 0; step < 20000; step++) {
		int i = random() % N, low = i, high = i;

		if (in[i])
			map_remove(&m, &node[i]);
		else
			node[i].key = 10 * i, map_insert(&m, &node[i]);
		in[i] = !in[i];
		i = random() % N;
		for (low = i; low >= 0 && !in[low]; low--)
			;
		for (high = i; high < N && !in[high]; high++)
			;
		CHECK(map_below(&m, 10 * i) == (low < 0 ? NULL : &node[low]));
		CHECK(map_above(&m, 10 * i) == (high == N ? NULL : &node[high]));
		CHECK(map_below(&m, 10 * i + 9) == (low < 0 ? NULL : &node[low]));
		CHECK(map_find(&m, 10 * i) == (in[i] ? &node[i] : NULL));
		CHECK(!map_find(&m, 10 * i + 1));
	}
}

static void interval_map(void)
{
	struct interval {
		uint64_t size;
		struct map_node node;
	} a = {.size = 10, .node.key = 100}, b = {.size = 1, .node.key = 110}, c = {.size = 2, .node.key = -2ull};
	struct map m = {0};

	CHECK(!map_holding(&m, 100, struct interval, node, size));
	map_insert(&m, &a.node);
	map_insert(&m, &b.node);
	map_insert(&m, &c.node);
	CHECK(!map_holding(&m, 99, struct interval, node, size));
	CHECK(map_holding(&m, 100, struct interval, node, size) == &a);
	CHECK(map_holding(&m, 109, struct interval, node, size) == &a);
	CHECK(map_holding(&m, 110, struct interval, node, size) == &b);
	CHECK(!map_holding(&m, 111, struct interval, node, size));
	CHECK(map_holding(&m, -1ull, struct interval, node, size) == &c);
}

static void visible(const char *list, const char *want)
{
	unsigned char uuids[4][16] = {{0x10, 0x20}, {0x10, 0x30}, {0xab, 0xcd}, {0xab, 0xcd, 0xef}};
	int out[4];
	char got[16] = "";
	int n = visible_devices(list, 4, uuids, out);

	for (int i = 0; i < n; i++)
		got[i] = '0' + out[i];
	got[n] = 0;
	if (strcmp(got, want))
		fprintf(stderr, "CUDA_VISIBLE_DEVICES=%s makes devices \"%s\" visible, expected \"%s\"\n",
			list ? list : "(unset)", got, want),
			failures++;
}

static void visibility(void)
{
	visible(NULL, "0123");
	visible("", "");
	visible("0", "0");
	visible("2,1", "21");
	visible(" 3 , 0 ", "30");
	visible("0,9,1", "0"); /* ends at the first invalid entry */
	visible("-1", "");
	visible("1,-1,2", "1");
	visible("NoDevFiles", "");
	visible("0,0", ""); /* a duplicate: no device */
	visible("1,2,1", "");
	visible("GPU-1030", "1");
	visible("gpu-1020,3", "03");
	visible("GPU-10", ""); /* ambiguous */
	visible("GPU-abcdef", "3");
	visible("GPU-abcd00", "2");
	visible("2,GPU-ffff,1", "2");
	visible("99999999999999999999", "");
	visible("0,", "0");
	visible("0x1", "");
}

int main(void)
{
	handles();
	races();
	ordered_map();
	interval_map();
	visibility();
	return RESULT();
}
