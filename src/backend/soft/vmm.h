/*
 * vmm.h - address ranges and the memory behind them, each managed by the application (vmm.c).
 */
#ifndef BACKEND_SOFT_VMM_H
#define BACKEND_SOFT_VMM_H

#include <stdbool.h>
#include <stdint.h>

/* The reservation that holds addr, mapped or not; weak for those who are linked without it. */
bool vmm_reservation(uint64_t addr, uint64_t *base, uint64_t *size) __attribute__((weak));

#endif
