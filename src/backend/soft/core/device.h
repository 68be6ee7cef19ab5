/*
 * device.h - making the devices when the driver is opened.
 */
#pragma once

#include "abi/cuda.h"

CUresult devices_open(void);
