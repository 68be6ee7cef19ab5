/*
 * null.h - the engine that runs nothing: the test double behind GANGWAY_DEVICE=null.
 *
 * It reads cubins and PTX as far as their declarations, so that modules, kernels and parameter layouts are
 *the real ones; memory and streams are the software driver's.  A launch is written down and otherwise left
 *out: if GANGWAY_NULL_LOG names a file, each appends a line to it:
 *
 *	launch <kernel> grid=x,y,z block=x,y,z shared=n params=<hexadecimal>
 *
 * Variables start with the values the code gives them, except that the address of a function reads as zero.
 */
#pragma once

#include "backend/soft/engine.h"

extern const struct engine null_engine;

void null_describe(int ordinal, struct engine_device *dev); /* device.c */
