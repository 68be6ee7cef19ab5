/*
 * cuGetExportTable: an unknown table is an error and sets the pointer to NULL; a known one always has the same address,
 * and all of its slots can be called.
 */
#include <stdlib.h>
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"

static const CUuuid runtime = {"\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9"};
static const CUuuid storage = {"\xc6\x93\x33\x6e\x11\x21\xdf\x11\xa8\xc3\x68\xf3\x55\xd8\x95\x93"};
static const CUuuid checks = {"\x26\x3e\x88\x60\x7c\xd2\x61\x43\x92\xf6\xbb\xd5\x00\x6d\xfa\x7e"};
static const CUuuid integrity = {"\xd4\x08\x20\x55\xbd\xe6\x70\x4b\x8d\x34\xba\x12\x3c\x66\xe1\xf2"};
static const CUuuid contexts = {"\x21\x31\x8c\x60\x97\x14\x32\x48\x8c\xa6\x41\xff\x73\x24\xc8\xf2"};
static const CUuuid modules = {"\x6e\x16\x3f\xbe\xb9\x58\x44\x4d\x83\x5c\xe1\x82\xaf\xf1\x99\x1e"};

static const void *const *table_find(const CUuuid *id)
{
	const void *first = NULL, *again = NULL;

	CHECK_EQ(cuGetExportTable(&first, id), CUDA_SUCCESS);
	CHECK_EQ(cuGetExportTable(&again, id), CUDA_SUCCESS);
	CHECK(first && first == again);
	return first;
}

static void check_unknown_tables(void)
{
	const CUuuid unknown = {"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"};
	const void *table = &unknown;

	CHECK_EQ(cuGetExportTable(&table, &unknown), CUDA_ERROR_INVALID_VALUE);
	CHECK(table == NULL);
	table = &unknown;
	CHECK_EQ(cuGetExportTable(&table, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK(table == NULL);
	CHECK_EQ(cuGetExportTable(NULL, &unknown), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuGetExportTable(NULL, &runtime), CUDA_ERROR_INVALID_VALUE);
}

/* The first word is the size of the table in bytes; no other word is NULL. */
static void check_complete(const CUuuid *id)
{
	const void *const *t = table_find(id);
	size_t bytes = t ? (size_t)t[0] : 0;

	CHECK(bytes >= 16 && bytes % 8 == 0 && bytes <= 1024);
	for (size_t i = 1; t && i < bytes / 8; i++)
		CHECK(t[i] != NULL);
}

/* The handle of the check_primary_handle context exists before the context is retained, and asking for it does not activate it. */
static void check_primary_handle(void)
{
	const void *const *t = table_find(&runtime);
	CUresult (*handle)(CUcontext *, CUdevice) = (CUresult (*)(CUcontext *, CUdevice))t[2];
	CUcontext early = NULL, late = NULL;
	unsigned flags;
	int active = 1;

	CHECK_EQ(handle(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK(handle(&early, 99) != CUDA_SUCCESS);
	CHECK_EQ(handle(&early, 0), CUDA_SUCCESS);
	CHECK_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
	CHECK_EQ(active, 0);
	CHECK_EQ(cuCtxSetCurrent(early), CUDA_SUCCESS);
	CHECK_EQ(cuDevicePrimaryCtxRetain(&late, 0), CUDA_SUCCESS);
	CHECK(early && early == late);
}

static int dropped;

static void count_drop(CUcontext ctx, void *key, void *value)
{
	CHECK(ctx && key == &dropped && value == &failures);
	dropped++;
}

static void check_context_storage(void)
{
	const void *const *t = table_find(&storage);
	CUresult (*put)(CUcontext, void *, void *, void (*)(CUcontext, void *, void *)) =
		(CUresult (*)(CUcontext, void *, void *, void (*)(CUcontext, void *, void *)))t[0];
	CUresult (*delete)(CUcontext, void *) = (CUresult (*)(CUcontext, void *))t[1];
	CUresult (*get)(void **, CUcontext, void *) = (CUresult (*)(void **, CUcontext, void *))t[2];
	void *value = NULL;

	CHECK_EQ(get(&value, NULL, &dropped), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(put(NULL, &dropped, &failures, count_drop), CUDA_SUCCESS);
	CHECK_EQ(get(&value, NULL, &dropped), CUDA_SUCCESS);
	CHECK(value == &failures);
	CHECK(get(NULL, NULL, &dropped) != CUDA_SUCCESS);
	CHECK_EQ(delete (NULL, &dropped), CUDA_SUCCESS);
	CHECK(delete (NULL, &dropped) != CUDA_SUCCESS);
	CHECK_EQ(put(NULL, &dropped, &failures, count_drop), CUDA_SUCCESS);
	CHECK_EQ(dropped, 0);
	CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	CHECK_EQ(dropped, 1);
	CHECK_EQ(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	CHECK_EQ(get(&value, NULL, &dropped), CUDA_ERROR_INVALID_CONTEXT);
}

int main(void)
{
	check_unknown_tables();
	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	check_unknown_tables();
	check_complete(&runtime), check_complete(&checks), check_complete(&integrity), check_complete(&contexts),
		check_complete(&modules);
	if (failures)
		return 1;
	check_primary_handle();
	check_context_storage();
	return RESULT();
}
