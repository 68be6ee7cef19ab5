/*
 * Wraps the lookups of variables and the unloading of code: only a variable that a lookup gave out can be mirrored, and
 * its mirrors go before its code does (copy/mirror.h).
 */
#include "server/code/code.h"
#include "server/quota/account.h"
#include "server/session/session.h"

static CUresult module_get_global(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
	struct account *a = worker_account();
	CUdeviceptr p = 0;
	size_t n = 0;
	CUresult r = a->real.cuModuleGetGlobal_v2(&p, &n, module, name);

	if (!r)
		mirrors_variable_found(worker_session, p, n, module, NULL);
	if (!r && address)
		*address = p;
	if (!r && size)
		*size = n;
	return r;
}

static CUresult library_lookup(CUresult (*lookup)(CUdeviceptr *, size_t *, CUlibrary, const char *),
	CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
	CUdeviceptr p = 0;
	size_t n = 0;
	CUresult r = lookup(&p, &n, library, name);

	if (!r)
		mirrors_variable_found(worker_session, p, n, NULL, library);
	if (!r && address)
		*address = p;
	if (!r && size)
		*size = n;
	return r;
}

static CUresult library_get_global(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
	return library_lookup(worker_account()->real.cuLibraryGetGlobal, address, size, library, name);
}

static CUresult library_get_managed(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
	return library_lookup(worker_account()->real.cuLibraryGetManaged, address, size, library, name);
}

static CUresult library_get_module(CUmodule *module, CUlibrary library)
{
	CUresult r = worker_account()->real.cuLibraryGetModule(module, library);

	if (!r)
		mirrors_library_module(worker_session, *module, library);
	return r;
}

static CUresult module_unload(CUmodule module)
{
	mirrors_unloading(worker_session, (uintptr_t)module);
	return worker_account()->real.cuModuleUnload(module);
}

static CUresult library_unload(CUlibrary library)
{
	mirrors_unloading(worker_session, (uintptr_t)library);
	return worker_account()->real.cuLibraryUnload(library);
}

void variables_wrap(struct cuda_ops *table)
{
	table->cuModuleGetGlobal_v2 = module_get_global;
	table->cuLibraryGetGlobal = library_get_global;
	table->cuLibraryGetManaged = library_get_managed;
	table->cuLibraryGetModule = library_get_module;
	table->cuModuleUnload = module_unload;
	table->cuLibraryUnload = library_unload;
}
