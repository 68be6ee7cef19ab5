/* Look up a symbol in a loaded object. */
#include "audit/base.h"
#include "audit/follow/symbol.h"

struct symbol_tables {
	const uint32_t *hash; /* GNU's; NULL: none */
	uint32_t nsymbols;    /* known without GNU's table only */
	const ElfW(Sym) *symbols;
	const char *strings;
};

static bool read_tables(const struct link_map *map, struct symbol_tables *t)
{
	const uint32_t *old = NULL;

	t->hash = NULL, t->symbols = NULL, t->strings = NULL;
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_GNU_HASH)
			t->hash = dynamic_address(map, d);
		else if (d->d_tag == DT_HASH)
			old = dynamic_address(map, d);
		else if (d->d_tag == DT_SYMTAB)
			t->symbols = dynamic_address(map, d);
		else if (d->d_tag == DT_STRTAB)
			t->strings = dynamic_address(map, d);
	}
	t->nsymbols = old ? old[1] : 0;
	return (t->hash || old) && t->symbols && t->strings;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* Libraries without a GNU hash table: the old one states the number of symbols. */
static void *search_all(const struct link_map *map, const struct symbol_tables *t, const char *name)
{
	for (uint32_t i = 0; i < t->nsymbols; i++) {
		const ElfW(Sym) *s = &t->symbols[i];

		if (s->st_shndx != SHN_UNDEF && text_equal(t->strings + s->st_name, name))
			return (void *)(map->l_addr + s->st_value);
	}
	return NULL;
}

/* A GNU hash table has four numbers, a filter, the buckets, and chains of hashes; the last hash of a chain has bit 0 set. */
void *symbol_find(const struct link_map *map, const char *name)
{
	struct symbol_tables t;

	if (!read_tables(map, &t))
		return NULL;
	if (!t.hash)
		return search_all(map, &t, name);
	uint32_t nbuckets = t.hash[0], first = t.hash[1], nfilter = t.hash[2], h = gnu_hash(name);
	const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(t.hash + 4) + nfilter),
		       *chain = buckets + nbuckets;

	if (!nbuckets || buckets[h % nbuckets] < first)
		return NULL;
	for (uint32_t i = buckets[h % nbuckets];; i++) {
		uint32_t there = chain[i - first];
		const ElfW(Sym) *s = &t.symbols[i];

		if ((there | 1) == (h | 1) && s->st_shndx != SHN_UNDEF && text_equal(t.strings + s->st_name, name))
			return (void *)(map->l_addr + s->st_value);
		if (there & 1)
			return NULL;
	}
}
