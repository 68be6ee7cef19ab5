/* mirror.h - managed memory of which client and server have a copy each (mirror.c). */
#pragma once

#include "backend/backend.h"
#include "server/session.h"

/* Somebody is about to be told that the device has come to somewhere: and before that, over TCP, if such memory has changed. */
void mirrors_tell(struct session *s);

void mirrors_unmapped(uint64_t address, uint64_t size); /* host memory that the client has taken back */
void mirrors_unloaded(const struct cuda_ops *ops);	/* a module or context is gone, and maybe variables with it */
