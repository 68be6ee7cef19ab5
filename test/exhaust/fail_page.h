/* fail_page.h - the page of shared memory that tells libfail-calls.so which call fails; written by sweep.c. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum fail_kind { FAIL_NONE, FAIL_THREAD, FAIL_MMAP, FAIL_MALLOC, FAIL_FD };

struct fail_page {
	_Atomic uint32_t kind;
	_Atomic int32_t at;     /* calls of this kind left until one fails */
	_Atomic uint32_t keep;  /* all calls after that one fail, too */
	_Atomic int32_t spared; /* a process whose calls never fail and are not counted */
	_Atomic uint32_t hits;  /* calls that have failed */
};
