/*
 * null.h - the engine that runs nothing: the test double behind GANGWAY_DEVICE=null.
 *
 * The engine reads the declarations of cubins and PTX, so that modules, kernels and parameter layouts are the real
 * ones; memory and streams are the software driver's.  A launch is only logged: if GANGWAY_NULL_LOG names a file, each
 * launch appends a line to it:
 *
 *	launch <kernel> grid=x,y,z block=x,y,z shared=n params=<hexadecimal>
 *
 * Variables start with the values that the code gives them, except that the address of a function is 0.
 */
#pragma once

#include "backend/soft/engine.h"

extern const struct engine null_engine;

void null_describe(int ordinal, struct engine_device *dev); /* device.c */
