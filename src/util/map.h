/*
 * map.h - an ordered map from 64-bit keys, whose nodes live inside the things it maps to (a treap).
 *
 *	map_below(m, k)   the node with the greatest key <= k: who owns this address?
 *	map_above(m, k)   the node with the least key >= k: who comes next?
 *
 * Expected depth is logarithmic whatever the keys.  The caller locks; lookups change nothing.
 */
#pragma once

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

void map_insert(struct map *m, struct map_node *n); /* n->key is set, and not in the map */
void map_remove(struct map *m, struct map_node *n);
struct map_node *map_below(const struct map *m, uint64_t key); /* or NULL */
struct map_node *map_above(const struct map *m, uint64_t key);
