/*
 * sandbox.h - a worker gives up the rights that its device does not need.
 *
 *	worker starts ─ sandbox_before_device() ─▶ opens the device ─ sandbox_before_client() ─▶ serves its client
 *	                privileges, Landlock                         limits, seccomp
 *
 * Privileges and Landlock belong to a thread and are inherited by the threads that it starts, so they are set while
 * the worker has one thread.  The seccomp filter applies to all threads; it is set last, because opening a device takes
 * more system calls than using it.  doc/sandbox.md says what each layer stops.
 *
 * Trust: from the client's first byte on, every thread of the worker may run code of an attacker.  No layer can be taken
 * back from inside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The layers, as bits. */
enum sandbox_layer {
	SANDBOX_PRIVILEGES = 1, /* no_new_privs; other processes of the user cannot attach */
	SANDBOX_LIMITS = 2,
	SANDBOX_FILES = 4,    /* Landlock: files, and no access to memory of processes outside */
	SANDBOX_NETWORK = 8,  /* Landlock ABI 4: no TCP connect and bind */
	SANDBOX_SCOPE = 16,   /* Landlock ABI 6: no signals and no abstract unix sockets outside */
	SANDBOX_SECCOMP = 32, /* syscalls.def */
};
#define SANDBOX_LANDLOCK (SANDBOX_FILES | SANDBOX_NETWORK | SANDBOX_SCOPE)
#define SANDBOX_ALL      (SANDBOX_PRIVILEGES | SANDBOX_LIMITS | SANDBOX_LANDLOCK | SANDBOX_SECCOMP)
#define SANDBOX_TEXT     128

/* The kind of device decides the column of syscalls.def and the rules of landlock.c. */
enum sandbox_kind { SANDBOX_CPU, SANDBOX_NVIDIA, SANDBOX_KINDS };

struct sandbox {
	enum sandbox_kind kind;
	unsigned layers;
	bool capabilities;                /* the worker keeps those that it has */
	bool dumpable;                    /* for debugging: others of the user may attach, and a core is left */
	bool isolate_user;                /* the worker changes its user when it has a client */
	uint64_t private_memory;          /* bytes of private memory that it may take from now on; 0: any number */
	_Atomic uint32_t *forbidden_call; /* receives the system call that ended the worker; NULL: nobody asks */
};

enum sandbox_kind sandbox_kind(const char *device);

/* The layers that this kernel and this build offer. */
unsigned sandbox_offered(void);

/* The names of layers, with commas; "none". */
void sandbox_describe(unsigned layers, char text[SANDBOX_TEXT]);

/* The name of a system call, or its number as text. */
void sandbox_call_name(uint32_t call, char text[SANDBOX_TEXT]);

/* 0; or -errno, and `what` names the layer that could not be entered: the worker must not serve then. */
int sandbox_before_device(const struct sandbox *s, const char **what);
int sandbox_before_client(const struct sandbox *s, const char **what);

/*
 * With --isolate user, once the worker has received its client and before it reads a byte of it.  All threads
 * become `user`, with the group of the same number and no capability.  0 or -errno.
 */
int sandbox_change_user(uid_t user);

/* Gives up all capabilities but these, which are bits.  0 or -errno. */
int sandbox_keep_capabilities(uint64_t kept);

/* landlock.c */
unsigned landlock_offered(void);
int landlock_enter(const struct sandbox *s);

/* seccomp.c, or seccomp_missing.c in builds without libseccomp and with a sanitizer */
bool seccomp_offered(void);
int seccomp_enter(const struct sandbox *s);
