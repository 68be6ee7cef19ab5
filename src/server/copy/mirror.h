/* mirror.h - managed memory of which client and server have a copy each (mirror.c). */
#pragma once

#include "backend/backend.h"
#include "server/session/session.h"

/* Somebody is about to be told that the device has come to somewhere: and before that, over TCP, if such memory has changed. */
void mirrors_tell(struct session *s);

/* WIRE_MIRROR_UP and WIRE_MIRROR_DOWN, without the dispatcher, which may be waiting for a host function that wants them. */
int mirrors_now(struct session *s, const struct frame *f);

bool mirrors_ever(
	void); /* has there been such memory?  The client reckons with it from then on.  For the dispatcher. */
void mirrors_ending(CUcontext context);                 /* its variables go with it: nobody looks at them any more */
void mirrors_unmapped(uint64_t address, uint64_t size); /* host memory that the client has taken back */
void mirrors_unloaded(const struct cuda_ops *ops);      /* a module or context is gone, and maybe variables with it */
