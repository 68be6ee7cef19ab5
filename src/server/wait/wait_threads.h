/*
 * wait.h - threads that wait for the device where it cannot tell the client itself.
 *
 * The dispatcher never waits.  It records an event where it stands and hands it over; a thread sleeps
 * on the event and then sets the client's word.  As many threads as waits at one time, none while
 * there are none to wait for.
 */
#pragma once

#include "server/session/session.h"

struct waiters;

struct waiters *waiters_create(struct session *s);
void waiters_destroy(struct waiters *w); /* NULL is fine; the contexts must be gone */

/* Is anything on its way that they will tell? */
bool waiters_busy(struct waiters *w);

/* Set the word, with its piece if there is one, when `stream` of the current context has come to here. */
CUresult waiters_stream(struct waiters *w, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece);
