/* Creates and destroys the state of the memory room. */
#include "backend/remote/memory/state.h"
#include <stdlib.h>
#include "backend/remote/hostmem/mirror.h"

#define BUFFER_IDS (1ull << 32) /* beyond the server's own buffer ids */
#define SHARE_IDS  (1ull << 40) /* beyond the descriptor ids of host memory */

struct memory_state *memory_state_create(void)
{
	struct memory_state *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	pthread_rwlock_init(&s->ranges.lock, NULL);
	pthread_rwlock_init(&s->mappings.lock, NULL);
	pthread_rwlock_init(&s->hosts.lock, NULL);
	pthread_mutex_init(&s->hosts.alloc_lock, NULL);
	pthread_mutex_init(&s->hosts.register_lock, NULL);
	pthread_mutex_init(&s->advice.lock, NULL);
	pthread_mutex_init(&s->mirrors.change_lock, NULL);
	pthread_mutex_init(&s->mirrors.lock, NULL);
	pthread_mutex_init(&s->tensors.lock, NULL);
	s->hosts.buffer_ids = BUFFER_IDS;
	s->share_ids = SHARE_IDS;
	return s;
}

static void map_free_nodes(struct map *m)
{
	struct map_node *n;

	while ((n = map_above(m, 0))) {
		map_remove(m, n);
		free(n); /* the first member of its object */
	}
}

/*
 * Host memory stays mapped: the application may still use it.  Its ranges and advice are small and belong to that memory;
 * they are not freed.
 */
void memory_state_destroy(struct memory_state *s)
{
	if (!s)
		return;
	ranges_finish(&s->ranges);
	map_free_nodes(&s->mappings.mappings);
	mirrors_finish(&s->mirrors);
	free(s->tensors.maps);
	free(s);
}
