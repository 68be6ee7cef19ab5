/*
 * worker.h - the process that serves one client.
 *
 * It is started before it is needed: the driver is initialised and a context made while nobody waits.
 * Then it gets a connected socket from its parent, serves that client, and exits; whatever the client
 * left behind goes with the process.
 */
#pragma once

/* In a fresh child: never returns.  `parent` is where the client's socket will come from. */
_Noreturn void worker_main(int parent, const char *device);

/* The parent's side. 0 or -errno. */
int worker_give(int worker, int client);
