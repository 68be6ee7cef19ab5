/*
 * client.h - for programs that use NVIDIA's libraries without their headers: open the libraries, call the driver, and
 * check that the work reached the device.
 *
 * The loader finds the libraries by SONAME, through LD_LIBRARY_PATH. No part of them is in this tree.
 */
#pragma once

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"
#include "test/process/launches.h"

static void *client_open(const char *soname)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}

static void *client_find(void *library, const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		fprintf(stderr, "%s is missing\n", name);
		exit(1);
	}
	return p;
}

#define FIND(library, pointer) (pointer = (__typeof__(pointer))client_find(library, #pointer))

/* Driver functions that the clients call directly. */
static struct {
	__typeof__(cuInit) *cuInit;
	__typeof__(cuDeviceGet) *cuDeviceGet;
	__typeof__(cuDevicePrimaryCtxRetain) *cuDevicePrimaryCtxRetain;
	__typeof__(cuCtxSetCurrent) *cuCtxSetCurrent;
	__typeof__(cuCtxSynchronize) *cuCtxSynchronize;
	__typeof__(cuMemAlloc_v2) *cuMemAlloc_v2;
	__typeof__(cuMemFree_v2) *cuMemFree_v2;
	__typeof__(cuMemcpyHtoD_v2) *cuMemcpyHtoD_v2;
	__typeof__(cuMemcpyDtoH_v2) *cuMemcpyDtoH_v2;
	__typeof__(cuModuleLoadData) *cuModuleLoadData;
	__typeof__(cuModuleGetFunction) *cuModuleGetFunction;
	__typeof__(cuModuleUnload) *cuModuleUnload;
	__typeof__(cuLaunchKernel) *cuLaunchKernel;
} d;

#define DRIVER(name) (d.name = (__typeof__(d.name))client_find(library, #name))

/* Make the primary context of device 0 current, as a runtime does. */
static inline void client_driver(void)
{
	void *library = client_open("libcuda.so.1");
	CUcontext ctx = NULL;
	CUdevice dev = 0;

	DRIVER(cuInit), DRIVER(cuDeviceGet), DRIVER(cuDevicePrimaryCtxRetain), DRIVER(cuCtxSetCurrent);
	DRIVER(cuCtxSynchronize), DRIVER(cuMemAlloc_v2), DRIVER(cuMemFree_v2), DRIVER(cuMemcpyHtoD_v2);
	DRIVER(cuMemcpyDtoH_v2), DRIVER(cuModuleLoadData), DRIVER(cuModuleGetFunction), DRIVER(cuModuleUnload);
	DRIVER(cuLaunchKernel);
	CHECK_EQ(d.cuInit(0), 0);
	CHECK_EQ(d.cuDeviceGet(&dev, 0), 0);
	CHECK_EQ(d.cuDevicePrimaryCtxRetain(&ctx, dev), 0);
	CHECK_EQ(d.cuCtxSetCurrent(ctx), 0);
	if (failures)
		exit(1);
}

/* Allocate device memory and copy these bytes into it. */
static inline CUdeviceptr client_upload(const void *bytes, size_t size)
{
	CUdeviceptr p = 0;

	CHECK_EQ(d.cuMemAlloc_v2(&p, size), 0);
	CHECK_EQ(d.cuMemcpyHtoD_v2(p, bytes, size), 0);
	return p;
}

/* Number of launches that the null device has recorded; -1 on other devices. */
static inline int client_launches(void)
{
	const char *path = getenv("GANGWAY_NULL_LOG");
	FILE *f = path ? fopen(path, "r") : NULL;
	int lines = 0;

	if (!path)
		return -1;
	for (int c; f && (c = getc(f)) != EOF;)
		lines += c == '\n';
	if (f)
		fclose(f);
	return lines;
}

/* Check that the last step launched a kernel, if the device records launches. */
static inline void client_step(const char *what, int before)
{
	int now = client_launches();

	if (before >= 0)
		CHECK(now > before);
	printf("%s: %d launches\n", what, before < 0 ? -1 : now - before);
}
