/*
 * list.h - a doubly linked list. Each entry embeds its struct list.
 *
 * A struct list is either the head of a list or a link in one. An empty head and an unlinked link point at themselves, so
 * removing twice is harmless. The caller locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *prev, *next;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define list_each(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)
/* The same for a body that may remove `it`. */
#define list_each_safe(it, head) \
	for (struct list *it = (head)->next, *it##_next = it->next; it != (head); it = it##_next, it##_next = it->next)

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_append(struct list *head, struct list *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void list_remove(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}
