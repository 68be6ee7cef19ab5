/* give.h - the worker's end of the socket to its parent: see worker.h. */
#pragma once

#include "server/daemon/worker.h"

/* A client's socket; -1: the parent is gone, or does not need us. */
int give_take(int parent);
void give_say(int parent, enum worker_word word, const char *text);
