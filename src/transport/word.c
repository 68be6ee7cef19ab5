/* word.c - words: progress counters that the client waits on. */
#include "transport/private.h"

#include <errno.h>

#include "transport/memory.h"
#include "util/tsan_order.h"

void *word_base(struct link *l, size_t *size)
{
	if (size)
		*size = memory_round((size_t)l->nwords * WORD_STRIDE);
	return l->words;
}

uint32_t *word_address(struct link *l, unsigned index)
{
	return index < l->nwords ? (uint32_t *)&l->words[index].value : NULL;
}

int word_alloc(struct link *l, unsigned *index, uint32_t *value)
{
	int err = -EAGAIN;

	pthread_mutex_lock(&l->lane_lock);
	for (unsigned i = 0; err && i < l->nwords; i++)
		if (!(l->words_used[i / 64] >> i % 64 & 1)) {
			l->words_used[i / 64] |= 1ull << i % 64;
			*index = i;
			*value = load_acquire(&l->words[i].value);
			err = 0;
		}
	pthread_mutex_unlock(&l->lane_lock);
	return err;
}

void word_free(struct link *l, unsigned index)
{
	pthread_mutex_lock(&l->lane_lock);
	l->words_used[index / 64] &= ~(1ull << index % 64);
	pthread_mutex_unlock(&l->lane_lock);
}

static bool word_value_reached(struct word *word, uint32_t value)
{
	bool is = (int32_t)(load_ordered(&word->value) - value) >= 0;

	if (is)
		ORDER_AFTER(called);
	return is;
}

bool word_reached(struct link *l, unsigned index, uint32_t value)
{
	return word_value_reached(&l->words[index], value);
}

int word_wait(struct link *l, unsigned index, uint32_t value, int timeout_ms, int (*on_sleep)(void *arg), void *arg)
{
	struct word *word = &l->words[index];
	struct wait w;
	int err;

	wait_init(&w, l->spin_us, timeout_ms);
	while (!word_value_reached(word, value)) {
		if ((err = link_broken(l)))
			return word_value_reached(word, value) ? 0 : err;
		if (wait_spin(&w)) {
			if (l->tcp_link)
				tcp_assist(l);
			continue;
		}
		if (on_sleep && (err = on_sleep(arg)))
			return err;
		on_sleep = NULL;
		/* Several threads may wait for one word: only the waker clears the flag. */
		wait_flag(&w, &word->sleep);
		if (word_value_reached(word, value))
			break;
		if (l->tcp_link)
			tcp_rely(l);
		if ((err = link_sleep(l, &w, &word->sleep)) == -ETIMEDOUT)
			return err;
	}
	return 0;
}

int word_set(struct link *l, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces)
{
	if (index >= l->nwords || npieces > LINK_PIECES)
		return -EINVAL;
	ORDER_BEFORE(told);
	store_ordered(&l->words[index].value, value);
	return word_wake(l, index, pieces, npieces);
}

int word_raise(struct link *l, unsigned index, uint32_t value, const struct piece *pieces, unsigned npieces)
{
	uint32_t now;

	if (index >= l->nwords || npieces > LINK_PIECES)
		return -EINVAL;
	ORDER_BEFORE(told);
	now = load_ordered(&l->words[index].value);
	while ((int32_t)(now - value) < 0 && !atomic_compare_exchange_weak(&l->words[index].value, &now, value))
		;
	return word_wake(l, index, pieces, npieces);
}

int word_wake(struct link *l, unsigned index, const struct piece *pieces, unsigned npieces)
{
	if (index >= l->nwords || npieces > LINK_PIECES)
		return -EINVAL;
	if (l->tcp_link)
		return tcp_word(l, index, pieces, npieces);
	wait_wake(&l->words[index].sleep);
	return link_broken(l);
}
