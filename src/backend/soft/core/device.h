/*
 * device.h - making the devices when the driver is opened.
 */
#ifndef BACKEND_SOFT_DEVICE_H
#define BACKEND_SOFT_DEVICE_H

#include "abi/cuda.h"

CUresult devices_open(void);

#endif
