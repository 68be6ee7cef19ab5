/*
 * device.h - initialising the devices when the driver is opened, and finding one for an entry point.
 */
#pragma once

#include "backend/soft/core/soft.h"

CUresult devices_open(void);

/* Start of a call that asks about device dev and writes to out.  Errors: 3 (no cuInit), 1 (out is NULL), 101. */
CUresult device_enter(CUdevice dev, const void *out, struct device **d);
