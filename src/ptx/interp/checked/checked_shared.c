/* Accesses to shared memory: whether bytes are initialized, and races between threads of a block. */
#include "ptx/interp/checked/checked_core.h"

/* The place in time of an access. */
struct moment {
	struct checked_block *c;
	uint32_t epoch, warp_epoch;
	uint16_t thread;
};

static struct moment moment_now(const struct warp *w, unsigned lane)
{
	struct checked_block *c = w->block->checked;

	return (struct moment){c, c->epoch, c->warp_epoch[w->number], (uint16_t)(w->number * LANES + lane)};
}

/* True if an earlier access by a thread, in the epochs given, is ordered before now. */
static bool is_before(const struct moment *m, uint32_t epoch, uint32_t warp_epoch, uint16_t thread)
{
	return epoch != m->epoch || thread == m->thread ||
	       (thread / LANES == m->thread / LANES && warp_epoch != m->warp_epoch);
}

static bool readers_before(const struct moment *m, const struct shadow_byte *s)
{
	if (s->read_epoch != m->epoch)
		return true;
	if (s->reader == READERS_MANY)
		return false;
	if (s->reader & READERS_OF_WARP)
		return (s->reader & ~READERS_OF_WARP) == m->thread / LANES && s->read_warp_epoch != m->warp_epoch;
	return is_before(m, s->read_epoch, s->read_warp_epoch, s->reader);
}

bool shared_initialized(const struct checked_block *c, uint64_t offset, uint64_t n, bool all)
{
	uint64_t known = 0;

	for (uint64_t i = 0; i < n; i++)
		known += c->shadow[offset + i].write_epoch >= c->first_epoch;
	return all ? known == n : known > 0;
}

static void race_report(struct warp *w, const struct checked_access *a, unsigned lane, uint64_t offset,
	enum check_access other, const struct checked_site *site, uint32_t thread)
{
	struct check_report r;

	if (checked_repeated(a->site, CHECK_RACE))
		return;
	r = checked_report_init(w, a, CHECK_RACE, lane, offset);
	if (a->var) {
		r.variable = a->var->name;
		r.offset = (int64_t)(offset - (a->var->unsized ? w->block->grid->shared_static : a->var->offset));
	}
	r.other_access = other;
	r.other_at = checked_place(site);
	r.other_known = thread < READERS_OF_WARP;
	if (r.other_known)
		checked_thread(w->block, thread, r.other_thread);
	checked_report(w, a->site, &r);
}

static void note_reader(struct shadow_byte *s, const struct moment *m, const struct checked_access *a)
{
	uint16_t warp = (uint16_t)(READERS_OF_WARP | m->thread / LANES);
	bool same_warp =
		s->reader == warp || (!(s->reader & READERS_OF_WARP) && s->reader / LANES == m->thread / LANES);

	if (s->read_epoch != m->epoch || (same_warp && s->read_warp_epoch != m->warp_epoch)) {
		s->reader = m->thread;
		s->read_strong = a->strong;
	} else if (s->reader != m->thread) {
		s->reader = same_warp ? warp : READERS_MANY;
		s->read_strong &= a->strong;
	}
	s->read_epoch = m->epoch;
	s->read_warp_epoch = m->warp_epoch;
	s->read_site = a->site;
}

void shared_read(struct warp *w, const struct checked_access *a, unsigned lane, uint64_t offset)
{
	struct moment m = moment_now(w, lane);
	bool races = w->launch->host->checks->what & CHECK_RACES;

	for (uint64_t i = 0; races && i < a->size; i++) {
		struct shadow_byte *s = &m.c->shadow[offset + i];

		if (!is_before(&m, s->write_epoch, s->write_warp_epoch, s->writer) && !(s->write_strong && a->strong)) {
			race_report(w, a, lane, offset, CHECK_WRITE, s->write_site, s->writer);
			races = false;
		}
		note_reader(s, &m, a);
	}
}

/* A write of the value that the byte already has is harmless, and correct programs contain such writes. */
static bool is_same_value(const struct shadow_byte *s, const struct checked_access *a, uint64_t i)
{
	return a->value && s->value_known && a->value[i] == s->value;
}

static bool writes_conflict(const struct moment *m, const struct shadow_byte *s, const struct checked_access *a)
{
	return !is_before(m, s->write_epoch, s->write_warp_epoch, s->writer) && !(s->write_strong && a->strong);
}

void shared_write(struct warp *w, const struct checked_access *a, unsigned lane, uint64_t offset)
{
	struct moment m = moment_now(w, lane);
	bool races = w->launch->host->checks->what & CHECK_RACES;

	for (uint64_t i = 0; i < a->size; i++) {
		struct shadow_byte *s = &m.c->shadow[offset + i];

		if (!races || is_same_value(s, a, i)) {
			/* Races are not checked, or the write changes nothing. */
		} else if (writes_conflict(&m, s, a)) {
			race_report(w, a, lane, offset, CHECK_WRITE, s->write_site, s->writer);
			races = false;
		} else if (!readers_before(&m, s) && !(s->read_strong && a->strong)) {
			race_report(w, a, lane, offset, CHECK_READ, s->read_site, s->reader);
			races = false;
		}
		s->write_epoch = m.epoch;
		s->write_warp_epoch = m.warp_epoch;
		s->writer = m.thread;
		s->write_strong = a->strong;
		s->write_site = a->site;
		s->value_known = a->value;
		s->value = a->value ? a->value[i] : 0;
	}
}
