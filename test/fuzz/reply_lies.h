/*
 * reply_lies.h - the hostile server of fuzz_replies: real workers whose replies, words and descriptors are changed on the way.
 *
 * A process that was forked at the start accepts connections and forks a worker for each. The linker puts the functions
 * __wrap_* in place of those of the transport, so a worker changes what it sends as the input says. Input and worker's pid
 * are in memory that client and workers share.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "backend/plugin.h"
#include "chance.h"
#include "server/quota/account.h"
#include "server/session/message.h"
#include "util/build_note.h"
#include "wire/protocol.h"

#define LIES 2048

static struct lies {
	_Atomic bool lying;
	_Atomic uint32_t at; /* bytes of `data` that were used */
	uint32_t size;
	_Atomic unsigned long told, kinds[6]; /* lies so far, and of each kind */
	_Atomic int worker;                   /* the newest */
	uint8_t data[LIES];
} *lies;

static bool in_worker;

enum lie { LIE_BYTES, LIE_RESULT, LIE_SIZE, LIE_WORD, LIE_DESCRIPTOR, LIE_AGAIN };

/*
 * The next byte of the input: an odd one chooses a lie, an even one none.  The random numbers of a lie follow from the byte and
 * its place, so that an input repeats its lies.
 */
static uint8_t lie_choose(void)
{
	uint32_t at = atomic_load(&lies->at);
	uint8_t byte;

	if (!in_worker || !atomic_load(&lies->lying) || at >= lies->size)
		return 0;
	at = atomic_fetch_add(&lies->at, 1);
	byte = at < lies->size ? lies->data[at] : 0;
	chance_state = (((uint64_t)at << 8 | byte) + 1) * 0x9e3779b97f4a7c15;
	roll();
	return byte & 1 ? byte : 0;
}

static void lie_count(enum lie kind)
{
	atomic_fetch_add(&lies->told, 1);
	atomic_fetch_add(&lies->kinds[kind], 1);
}

/* ---- Replies ---- */

static _Thread_local uint8_t *reply_payload;
static _Thread_local uint32_t reply_room;

int __real_lane_reply_reserve(struct lane *lane, uint32_t size, void **payload);
int __real_lane_reply(
	struct lane *lane, uint32_t op, uint64_t ticket, uint32_t size, const struct piece *pieces, unsigned npieces);
int __real_word_set(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces);
int __real_word_raise(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces);
int __real_link_send_fd(struct link *link, uint64_t id, int fd);
int __wrap_lane_reply_reserve(struct lane *lane, uint32_t size, void **payload);
int __wrap_lane_reply(
	struct lane *lane, uint32_t op, uint64_t ticket, uint32_t size, const struct piece *pieces, unsigned npieces);
int __wrap_word_set(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces);
int __wrap_word_raise(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces);
int __wrap_link_send_fd(struct link *link, uint64_t id, int fd);

int __wrap_lane_reply_reserve(struct lane *lane, uint32_t size, void **payload)
{
	int err = __real_lane_reply_reserve(lane, size, payload);

	reply_payload = err ? NULL : *payload;
	reply_room = size;
	return err;
}

/* Changes values of 4 or 8 bytes, mostly behind the head, to odd_value(). */
static void reply_change_bytes(uint32_t size)
{
	uint32_t head = size > sizeof(struct wire_reply) && roll() % 8 ? sizeof(struct wire_reply) : 0;
	unsigned width = roll() % 2 ? 4 : 8, n = (size - head) / width;

	if (!n)
		return;
	for (unsigned changes = 1 + roll() % 3; changes; changes--) {
		uint32_t at = head + (uint32_t)(roll() % (roll() % 2 && n > 8 ? 8 : n)) * width;
		uint64_t v = odd_value();
		memcpy(reply_payload + at, &v, width);
	}
	lie_count(LIE_BYTES);
}

static void reply_change_result(uint32_t size)
{
	struct wire_reply head;

	if (size < sizeof head)
		return;
	memcpy(&head, reply_payload, sizeof head);
	head.result = roll() % 2 ? (uint32_t)odd_value() : roll() % 4;
	memcpy(reply_payload, &head, sizeof head);
	lie_count(LIE_RESULT);
}

static void reply_remember(uint32_t size)
{
	uint64_t v;

	for (uint32_t i = 0; i + 8 <= size && i < 64; i += 8) {
		memcpy(&v, reply_payload + i, sizeof v);
		chance_remember(v);
	}
}

/* The size of the changed reply. */
static uint32_t reply_change(uint8_t how, uint32_t size)
{
	reply_remember(size);
	if (how % 32 == 31) { /* rarely: the client notices, and ends the link */
		lie_count(LIE_SIZE);
		return (uint32_t)(roll() % (size + 1)) & (roll() % 4 ? ~7u : ~0u);
	}
	if (how % 8 == 3)
		reply_change_result(size);
	else
		reply_change_bytes(size);
	return size;
}

int __wrap_lane_reply(
	struct lane *lane, uint32_t op, uint64_t ticket, uint32_t size, const struct piece *pieces, unsigned npieces)
{
	static _Thread_local uint8_t before[256];
	uint8_t how = reply_payload ? lie_choose() : 0;
	bool again = how == 0xfd && size <= sizeof before;

	if (again)
		memcpy(before, reply_payload, size);
	else if (how)
		size = reply_change(how >> 1, size);
	reply_payload = NULL;
	int err = __real_lane_reply(lane, op, ticket, size, pieces, npieces);
	if (!again || err || __real_lane_reply_reserve(lane, size, (void **)&reply_payload))
		return err;
	memcpy(reply_payload, before, size);
	reply_payload = NULL;
	lie_count(LIE_AGAIN);
	return __real_lane_reply(lane, op, ticket, size, NULL, 0);
}

/* ---- Words and descriptors ---- */

/* Rarely: a word that never reaches its value makes the client wait. */
static void word_change(unsigned *index, uint32_t *value)
{
	uint8_t how = lie_choose();

	if (how % 16 != 1)
		return;
	lie_count(LIE_WORD);
	if (how & 0x80)
		*index = (unsigned)(roll() % 300);
	else
		*value = (uint32_t)odd_value();
}

int __wrap_word_set(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces)
{
	word_change(&index, &value);
	return __real_word_set(link, index, value, pieces, npieces);
}

int __wrap_word_raise(struct link *link, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces)
{
	word_change(&index, &value);
	return __real_word_raise(link, index, value, pieces, npieces);
}

int __wrap_link_send_fd(struct link *link, uint64_t id, int fd)
{
	uint8_t how = lie_choose();
	int other = -1;

	switch (how >> 1 & 3) {
	case 0:
		other = how ? memfd_create("short", MFD_CLOEXEC) : -1; /* too short, and not sealed */
		break;
	case 1:
		other = open("/dev/zero", O_RDWR | O_CLOEXEC);
		break;
	case 2:
		other = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		break;
	case 3:
		id++;
		break;
	}
	if (how)
		lie_count(LIE_DESCRIPTOR);
	int err = __real_link_send_fd(link, id, other < 0 ? fd : other);
	if (other >= 0)
		close(other);
	return err;
}

/* ---- Workers ---- */

static CUresult lies_unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void lies_storage(CUcontext ctx)
{
	(void)ctx;
}

static bool lies_open_device(struct session *s)
{
	static struct cuda_ops table;
	static struct stats stats;
	CUresult (**f)(void) = (CUresult (**)(void))&table;
	const struct backend *b;
	char why[512] = "";
	size_t memory = 0;

	b = plugin_backend("cpu", why, sizeof why);
	if (!b || b->open("cpu", &table, lies_storage, why, sizeof why))
		return fprintf(stderr, "no CPU device: %s\n", why), false;
	for (int i = 0; i < cuda_OP_COUNT; i++)
		if (!f[i])
			f[i] = lies_unsupported;
	if (table.cuInit(0) || table.cuDeviceTotalMem_v2(&memory, 0))
		return false;
	stats.info[0].memory = memory;
	stats.ndevices = 1;
	s->account = account_create(&table, &stats);
	s->ops = &table;
	return s->account != NULL;
}

static _Noreturn void lies_serve(int client)
{
	struct link_config config = link_defaults(true);
	struct session *s = calloc(1, sizeof *s);
	char error[LINK_ERROR_TEXT];

	in_worker = true;
	atomic_store(&lies->worker, getpid());
	chance_state = (uint64_t)getpid() * 0x9e3779b97f4a7c15 | 1;
	config.spin_us = 0;
	config.build = build_note_text;
	config.protocol = wire_protocol();
	session_init(s);
	if (lies_open_device(s) && !link_serve(&s->link, client, &config, error) && !session_start(s))
		session_run(s);
	_exit(0);
}

/* Forks the process that accepts connections; it ends with this one. */
static void lies_start(int listener)
{
	lies = mmap(NULL, sizeof *lies, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (lies == MAP_FAILED)
		abort();
	pid_t parent = getpid();
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	while (getppid() == parent) {
		int client = link_accept(listener);
		if (client >= 0 && !fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			lies_serve(client);
		}
		close(client);
	}
	_exit(0);
}
