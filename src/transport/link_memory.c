/* link_memory.c - the memory of a link: control, words and arenas; made by the server, or over TCP by each side. */
#include "transport/private.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "transport/memory.h"

static size_t words_offset(void)
{
	return memory_page() + memory_round(BOARD_SLOTS * sizeof(uint64_t));
}

size_t control_bytes(uint32_t nwords)
{
	return words_offset() + memory_round((size_t)nwords * WORD_STRIDE);
}

static uint8_t *map_file(int fd, size_t size, size_t *mapped)
{
	struct memory_range all = {0, size, 1};

	return memory_map(fd, &all, 1, mapped);
}

int link_memory_map(struct link_memory *m)
{
	m->control = map_file(m->fds[0], control_bytes(m->nwords), &m->control_map);
	for (int i = 0; i < 2 && m->control; i++)
		m->base[i] = map_file(m->fds[1 + i], m->size[i], &m->map[i]);
	return m->control && m->base[0] && m->base[1] ? 0 : -ENOMEM;
}

int link_memory_create_fds(struct link_memory *m)
{
	m->fds[0] = memory_create("gangway-control", control_bytes(m->nwords));
	m->fds[1] = memory_create("gangway-up", m->size[BULK_UP]);
	m->fds[2] = memory_create("gangway-down", m->size[BULK_DOWN]);
	for (int i = 0; i < 3; i++)
		if (m->fds[i] < 0)
			return m->fds[i];
	return link_memory_map(m);
}

void link_memory_close_fds(struct link_memory *m)
{
	for (int i = 0; i < 3; i++) {
		if (m->fds[i] >= 0)
			close(m->fds[i]);
		m->fds[i] = -1;
	}
}

void link_memory_discard(struct link_memory *m)
{
	link_memory_close_fds(m);
	memory_unmap(m->control, m->control_map);
	for (int i = 0; i < 2; i++)
		memory_unmap(m->base[i], m->map[i]);
}

void link_memory_give(struct link_memory *m, struct link *l)
{
	l->control = (struct control *)m->control;
	l->control_size = m->control_map;
	l->board = (_Atomic uint64_t *)(m->control + memory_page());
	l->words = (struct word *)(m->control + words_offset());
	for (int i = 0; i < 2; i++) {
		l->arena[i].base = m->base[i];
		l->arena[i].map_size = m->map[i];
	}
}

int link_memory_create(struct link_memory **memory, const struct link_config *config)
{
	struct link_memory *m = calloc(1, sizeof *m);
	int err;

	*memory = NULL;
	if (!m)
		return -ENOMEM;
	m->nwords = config->words;
	m->size[BULK_UP] = (uint32_t)memory_round(config->up_size);
	m->size[BULK_DOWN] = (uint32_t)memory_round(config->down_size);
	err = link_memory_create_fds(m);
	if (err) {
		link_memory_discard(m);
		free(m);
		return err;
	}
	*memory = m;
	return 0;
}

void *link_memory_words(const struct link_memory *m, size_t *size)
{
	*size = memory_round((size_t)m->nwords * WORD_STRIDE);
	return m->control + words_offset();
}

void *link_memory_bulk(const struct link_memory *m, enum bulk which, size_t *size)
{
	*size = m->size[which];
	return m->base[which];
}
