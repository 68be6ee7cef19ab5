/*
 * map.h - an ordered map from 64-bit keys to entries (a treap). Each entry embeds its struct map_node.
 *
 * The expected depth is logarithmic for any sequence of keys. The caller locks; lookups do not modify the map.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct map_node {
	uint64_t key;
	uint32_t rank;
	struct map_node *left, *right;
};

struct map {
	struct map_node *root;
	uint32_t seed;
};

/* The caller has set n->key, which must not be in the map yet. */
void map_insert(struct map *m, struct map_node *n);
void map_remove(struct map *m, struct map_node *n);

/* These return NULL if no node qualifies. */
struct map_node *map_find(const struct map *m, uint64_t key);  /* the node with this key */
struct map_node *map_below(const struct map *m, uint64_t key); /* the node with the greatest key <= key */
struct map_node *map_above(const struct map *m, uint64_t key); /* the node with the least key >= key */

/*
 * For a map of address intervals that do not overlap: the entry whose interval contains the address, or NULL.
 * The interval of an entry starts at the key of its member `node`; its length is the 64-bit member `size`.
 */
#define map_holding(m, address, type, node, size) \
	((type *)map_entry_holding(m, address, offsetof(type, node), \
		offsetof(type, size) + 0 * sizeof(char[sizeof(((type *)0)->size) == sizeof(uint64_t) ? 1 : -1])))
void *map_entry_holding(const struct map *m, uint64_t address, size_t node_offset, size_t size_offset);
