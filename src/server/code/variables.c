/*
 * Wraps the lookups in code and the unloading of code.  Only a variable that a lookup gave out can be mirrored, and its
 * mirrors go before its code does (copy/mirror.h).  Handles of functions and kernels end with their code.
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

	if (!r) {
		mirrors_library_module(worker_session, *module, library);
		handles_own(worker_session->handles, HANDLE_CUmodule, *module, library);
	}
	return r;
}

static CUresult module_get_function(CUfunction *function, CUmodule module, const char *name)
{
	CUresult r = worker_account()->real.cuModuleGetFunction(function, module, name);

	if (!r)
		handles_own(worker_session->handles, HANDLE_CUfunction, *function, module);
	return r;
}

static CUresult module_enumerate(CUfunction *functions, unsigned count, CUmodule module)
{
	CUresult r = worker_account()->real.cuModuleEnumerateFunctions(functions, count, module);

	for (unsigned i = 0; functions && i < count && !r; i++)
		handles_own(worker_session->handles, HANDLE_CUfunction, functions[i], module);
	return r;
}

static CUresult library_get_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult r = worker_account()->real.cuLibraryGetKernel(kernel, library, name);

	if (!r)
		handles_own(worker_session->handles, HANDLE_CUkernel, *kernel, library);
	return r;
}

static CUresult library_enumerate(CUkernel *kernels, unsigned count, CUlibrary library)
{
	CUresult r = worker_account()->real.cuLibraryEnumerateKernels(kernels, count, library);

	for (unsigned i = 0; kernels && i < count && !r; i++)
		handles_own(worker_session->handles, HANDLE_CUkernel, kernels[i], library);
	return r;
}

static CUresult kernel_get_function(CUfunction *function, CUkernel kernel)
{
	CUresult r = worker_account()->real.cuKernelGetFunction(function, kernel);
	void *library = r ? NULL : handles_owner(worker_session->handles, HANDLE_CUkernel, kernel);

	if (library)
		handles_own(worker_session->handles, HANDLE_CUfunction, *function, library);
	return r;
}

static CUresult module_unload(CUmodule module)
{
	mirrors_unloading(worker_session, (uintptr_t)module);
	return code_unloaded(worker_session, worker_account()->real.cuModuleUnload(module), module);
}

static CUresult library_unload(CUlibrary library)
{
	mirrors_unloading(worker_session, (uintptr_t)library);
	return code_unloaded(worker_session, worker_account()->real.cuLibraryUnload(library), library);
}

void variables_wrap(struct cuda_ops *table)
{
	table->cuModuleGetGlobal_v2 = module_get_global;
	table->cuLibraryGetGlobal = library_get_global;
	table->cuLibraryGetManaged = library_get_managed;
	table->cuLibraryGetModule = library_get_module;
	table->cuModuleGetFunction = module_get_function;
	table->cuModuleEnumerateFunctions = module_enumerate;
	table->cuLibraryGetKernel = library_get_kernel;
	table->cuLibraryEnumerateKernels = library_enumerate;
	table->cuKernelGetFunction = kernel_get_function;
	table->cuModuleUnload = module_unload;
	table->cuLibraryUnload = library_unload;
}
