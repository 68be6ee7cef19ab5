/*
 * parity.h - for a program that calls a CUDA runtime with legal and illegal arguments and prints every result: with
 * NVIDIA's runtime and with ours, both over our driver, the output must be the same.
 *
 * The runtime is opened by name. CUDART_MAJOR is its release. Addresses and handles are not printed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if CUDART_MAJOR == 12
#include "gen/cudart12_protos.h"
#else
#include "gen/cudart13_protos.h"
#endif

void *parity_find(const char *name); /* exits if the runtime does not have it */
#define RT(name) ((__typeof__(name) *)parity_find(#name))

/* Prints the call and its result; if the thread's last error differs from the result, that too, and clears it. */
void parity_result(const char *call, cudaError_t e);
#define TRY(name, ...) parity_result(#name "(" #__VA_ARGS__ ")", RT(name)(__VA_ARGS__))

#define SHOW(value)   printf("    %s = %lld\n", #value, (long long)(value))
#define SHOW_F(value) printf("    %s = %g\n", #value, (double)(value))

/* Handles and an address that nobody has made. */
#define BAD(type) ((type)(uintptr_t)0x123450)

void parity_device(void);
void parity_memory(void);
void parity_copy(void);
void parity_array(void);
void parity_stream(void);
void parity_launch(void);
void parity_graph(void);
void parity_node(void);
void parity_error(void);

/* Kernels and variables that the program registers: kernels plus(out, value), store(out), and variables. Their addresses stand for them. */
extern char parity_plus, parity_crash, parity_missing, parity_offset, parity_nowhere;
extern int *parity_managed;
