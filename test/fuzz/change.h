/* change.h - changes to valid frames, rare enough that the remaining frames stay valid. */
#pragma once

#include <stdbool.h>
#include "chance.h"
#include "transport/private.h"
#include "wire/nvml.h"
#include "wire/wire.h"

#define PAYLOAD (256u << 10)

static unsigned rarely; /* one frame out of this many is changed */
static unsigned spared; /* the first frames that are never changed */

static bool now_is_the_time(unsigned long frame)
{
	return frame >= spared && roll() % rarely == 0;
}

/* Values that both sides have used: handles, addresses, sizes. */
static void learn(const uint8_t *p, size_t size)
{
	uint64_t v;

	for (size_t at = 0; at + 8 <= size && at < 64; at += 8)
		if (roll() % 8 == 0)
			memcpy(&v, p + at, 8), chance_remember(v);
}

static void change_values(uint8_t *p, size_t size)
{
	for (unsigned n = 1 + roll() % 3; n && size >= 4; n--) {
		size_t width = roll() % 2 && size >= 8 ? 8 : 4, at = roll() % (size / width) * width;
		uint64_t v = odd_value();
		switch (roll() % 4) {
		case 0:
			p[at] ^= (uint8_t)(1u << roll() % 8);
			break;
		case 1:
			v = 0;
			memcpy(&v, p + at, width);
			v += roll() % 9 - 4;
			/* fall through */
		default:
			memcpy(p + at, &v, width);
		}
	}
}

static unsigned another_op(unsigned op)
{
	switch (roll() % 4) {
	case 0:
		return op + 1 - (unsigned)(roll() % 3);
	case 1:
		return (unsigned)(roll() % 700);
	case 2:
		return WIRE_NVML + (unsigned)(roll() % (WIRE_NVML_END - WIRE_NVML));
	default:
		return WIRE_DEVICES + (unsigned)(roll() % (WIRE_OPS_END - WIRE_DEVICES));
	}
}

/* A frame as sent over TCP, without the bytes of its pieces. */
struct message {
	struct frame_head head;
	uint8_t body[PAYLOAD + LINK_PIECES * sizeof(struct piece)];
};

/* The frame without its pieces; their number stays the same. */
static void change(struct message *m)
{
	uint8_t pieces[LINK_PIECES * sizeof(struct piece)];
	uint32_t old = (m->head.payload + 7) & ~7u, n = m->head.npieces * sizeof(struct piece);

	memcpy(pieces, m->body + old, n);
	switch (roll() % 12) {
	case 0:
		m->head.op = another_op(m->head.op);
		break;
	case 1:
		m->head.payload = (uint32_t)(roll() % (m->head.payload + 1));
		break;
	case 2:
		odd_bytes(m->body + m->head.payload, 64);
		m->head.payload += (uint32_t)(roll() % 64);
		break;
	case 3:
		if (n) /* another position, or one outside the arena */
			memcpy(pieces, &(uint32_t){(uint32_t)odd_value()}, 4);
		break;
	case 4:
		if (roll() % 8 == 0)
			change_values((uint8_t *)&m->head, sizeof m->head);
		break;
	default:
		change_values(m->body, m->head.payload);
	}
	if (m->head.payload <= PAYLOAD && m->head.npieces * sizeof(struct piece) == n)
		memcpy(m->body + ((m->head.payload + 7) & ~7u), pieces, n);
}
