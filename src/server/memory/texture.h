/* texture.h - texture and surface objects of a session. */
#pragma once

#include "abi/cuda.h"

struct session;

/* The context has ended, and its objects with it. */
void textures_context_ended(struct session *s, CUcontext context);
