/* The ordered map: a treap, whose random ranks keep it balanced. */
#include "util/map.h"

#include <string.h>

static uint32_t random_rank(struct map *m)
{
	uint32_t x = m->seed ? m->seed : 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return m->seed = x;
}

/* Divide tree t: nodes with keys below `key` go to *low, the others to *high. */
static void treap_split(struct map_node *t, uint64_t key, struct map_node **low, struct map_node **high)
{
	while (t) {
		if (t->key < key) {
			*low = t;
			low = &t->right;
			t = t->right;
		} else {
			*high = t;
			high = &t->left;
			t = t->left;
		}
	}
	*low = *high = NULL;
}

/* Join trees a and b into *to. Every key of a is below every key of b. */
static void treap_merge(struct map_node **to, struct map_node *a, struct map_node *b)
{
	while (a && b) {
		if (a->rank > b->rank) {
			*to = a;
			to = &a->right;
			a = a->right;
		} else {
			*to = b;
			to = &b->left;
			b = b->left;
		}
	}
	*to = a ? a : b;
}

void map_insert(struct map *m, struct map_node *n)
{
	struct map_node **p = &m->root;

	n->rank = random_rank(m);
	while (*p && (*p)->rank >= n->rank)
		p = n->key < (*p)->key ? &(*p)->left : &(*p)->right;
	struct map_node *below = *p;
	*p = n;
	treap_split(below, n->key, &n->left, &n->right);
}

void map_remove(struct map *m, struct map_node *n)
{
	struct map_node **p = &m->root;

	while (*p && *p != n)
		p = n->key < (*p)->key ? &(*p)->left : &(*p)->right;
	if (*p)
		treap_merge(p, n->left, n->right);
}

struct map_node *map_below(const struct map *m, uint64_t key)
{
	struct map_node *best = NULL;

	for (struct map_node *n = m->root; n;) {
		if (n->key <= key) {
			best = n;
			n = n->right;
		} else {
			n = n->left;
		}
	}
	return best;
}

struct map_node *map_find(const struct map *m, uint64_t key)
{
	struct map_node *n = map_below(m, key);

	return n && n->key == key ? n : NULL;
}

void *map_entry_holding(const struct map *m, uint64_t address, size_t node_offset, size_t size_offset)
{
	struct map_node *n = map_below(m, address);
	uint64_t size;

	if (!n)
		return NULL;
	char *entry = (char *)n - node_offset;
	memcpy(&size, entry + size_offset, sizeof size);
	return address - n->key < size ? entry : NULL;
}

struct map_node *map_above(const struct map *m, uint64_t key)
{
	struct map_node *best = NULL;

	for (struct map_node *n = m->root; n;) {
		if (n->key >= key) {
			best = n;
			n = n->left;
		} else {
			n = n->right;
		}
	}
	return best;
}
