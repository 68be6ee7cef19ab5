/*
 * The code of the program: fat binaries that its constructors register, and the host addresses that stand for their
 * kernels and variables.
 *
 * An image is loaded when something of it is first used. A kernel launch finds its symbol in a hash table without a lock:
 * entries are only added, under the lock; a table that became too small stays allocated, because a reader may still be in
 * it; a symbol whose image was unregistered stays, too, without its image.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cudart/runtime.h"

enum symbol_kind { SYMBOL_KERNEL, SYMBOL_VARIABLE, SYMBOL_MANAGED };

struct image {
	void *self; /* what the handle points to */
	const void *wrapper;
	CUlibrary library;
	bool loaded;
};

struct symbol {
	const void *host;
	const char *name;
	enum symbol_kind kind;
	_Atomic(struct image *) image; /* NULL: unregistered */
	_Atomic(CUkernel) kernel;      /* NULL until first used */
	void **pointer;                /* managed: the program's variable that holds the address */
	size_t size;
	struct symbol *next_managed, *next_waiting;
};

struct symbol_table {
	struct symbol_table *older; /* a reader may still be in it */
	size_t size;                /* a power of two */
	_Atomic(struct symbol *) slots[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* images, and changes of the table */
static _Atomic(struct symbol_table *) table;
static size_t symbol_count;
static struct symbol *managed_all, *managed_waiting;
_Atomic bool managed_waits;

static size_t symbol_hash(const void *host)
{
	return (uintptr_t)host * 0x9E3779B97F4A7C15ull >> 20;
}

static struct symbol *symbol_find(const void *host)
{
	struct symbol_table *t = atomic_load_explicit(&table, memory_order_acquire);
	struct symbol *s;

	if (!t)
		return NULL;
	for (size_t i = symbol_hash(host);; i++) {
		s = atomic_load_explicit(&t->slots[i & (t->size - 1)], memory_order_acquire);
		if (!s || s->host == host)
			return s && atomic_load_explicit(&s->image, memory_order_acquire) ? s : NULL;
	}
}

/* With the lock held. A symbol of the same address replaces an older one. */
static void symbol_put(struct symbol_table *t, struct symbol *s)
{
	size_t i = symbol_hash(s->host);
	struct symbol *old;

	while ((old = atomic_load(&t->slots[i & (t->size - 1)])) && old->host != s->host)
		i++;
	atomic_store_explicit(&t->slots[i & (t->size - 1)], s, memory_order_release);
}

/* With the lock held: a table with room for one more symbol, or NULL. */
static struct symbol_table *table_room(void)
{
	struct symbol_table *old = atomic_load(&table), *t;
	size_t size = old ? old->size : 64;

	if (old && symbol_count * 2 < old->size)
		return old;
	if (old)
		size *= 2;
	t = calloc(1, sizeof *t + size * sizeof *t->slots);
	if (!t)
		return NULL;
	t->size = size;
	t->older = old;
	for (size_t i = 0; old && i < old->size; i++) {
		struct symbol *s = atomic_load(&old->slots[i]);
		if (s)
			symbol_put(t, s);
	}
	atomic_store_explicit(&table, t, memory_order_release);
	return t;
}

static struct symbol *symbol_add(void **handle, const void *host, const char *name, enum symbol_kind kind, size_t size)
{
	struct symbol *s = calloc(1, sizeof *s);
	struct symbol_table *t;

	if (!s)
		return NULL;
	s->host = host;
	s->name = name;
	s->kind = kind;
	s->size = size;
	atomic_store(&s->image, (struct image *)handle);
	pthread_mutex_lock(&lock);
	t = table_room();
	if (t) {
		symbol_put(t, s);
		symbol_count++;
	}
	pthread_mutex_unlock(&lock);
	return t ? s : NULL;
}

/* With the lock held. */
static cudaError_t image_load(struct image *image)
{
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *value = (void *)1;
	CUresult r;

	if (image->loaded)
		return cudaSuccess;
	r = cuLibraryLoadData(&image->library, image->wrapper, NULL, NULL, 0, &option, &value, 1);
	image->loaded = !r;
	return from_driver(r);
}

static cudaError_t kernel_load(struct symbol *s, CUkernel *kernel)
{
	struct image *image;
	cudaError_t e;

	pthread_mutex_lock(&lock);
	image = atomic_load(&s->image);
	e = image ? image_load(image) : cudaErrorInvalidDeviceFunction;
	if (!e)
		e = from_driver(cuLibraryGetKernel(kernel, image->library, s->name));
	if (!e)
		atomic_store_explicit(&s->kernel, *kernel, memory_order_release);
	pthread_mutex_unlock(&lock);
	return e;
}

cudaError_t symbol_kernel(const void *host, CUkernel *kernel)
{
	struct symbol *s = symbol_find(host);

	if (!host)
		return cudaErrorInvalidDeviceFunction;
	if (!s || s->kind != SYMBOL_KERNEL) {
		*kernel = (CUkernel)host; /* the driver checks it */
		return cudaSuccess;
	}
	*kernel = atomic_load_explicit(&s->kernel, memory_order_acquire);
	return *kernel ? cudaSuccess : kernel_load(s, kernel);
}

void *symbol_of_kernel(CUkernel kernel)
{
	struct symbol_table *t = atomic_load_explicit(&table, memory_order_acquire);

	for (size_t i = 0; kernel && t && i < t->size; i++) {
		struct symbol *s = atomic_load_explicit(&t->slots[i], memory_order_acquire);
		if (s && atomic_load(&s->image) && atomic_load(&s->kernel) == kernel)
			return (void *)s->host;
	}
	return kernel;
}

const char *symbol_name(const void *host)
{
	struct symbol *s = symbol_find(host);

	return s && s->kind == SYMBOL_KERNEL ? s->name : NULL;
}

/* A managed variable is known by its address in managed memory, which is what the program sees as the variable. */
static struct symbol *managed_find(const void *address)
{
	struct symbol *s = managed_all;

	while (s && !(address && *s->pointer == address && atomic_load(&s->image)))
		s = s->next_managed;
	return s;
}

cudaError_t symbol_variable(const void *host, CUdeviceptr *address, size_t *size)
{
	struct symbol *s = symbol_find(host);
	struct image *image;
	size_t bytes = 0;
	cudaError_t e;

	pthread_mutex_lock(&lock);
	if (!s || s->kind != SYMBOL_VARIABLE)
		s = managed_find(host);
	if (!s) {
		pthread_mutex_unlock(&lock);
		return cudaErrorInvalidSymbol;
	}
	image = atomic_load(&s->image);
	e = image ? image_load(image) : cudaErrorInvalidSymbol;
	if (!e && s->kind == SYMBOL_MANAGED)
		e = from_driver(cuLibraryGetManaged(address, &bytes, image->library, s->name));
	else if (!e)
		e = from_driver(cuLibraryGetGlobal(address, &bytes, image->library, s->name));
	pthread_mutex_unlock(&lock);
	if (size)
		*size = bytes;
	return e == cudaErrorSymbolNotFound && CUDART_MAJOR == 12 ? cudaErrorInvalidSymbol : e;
}

cudaError_t managed_load(void)
{
	cudaError_t e = cudaSuccess;
	CUdeviceptr address;
	size_t size;

	pthread_mutex_lock(&lock);
	while (managed_waiting && !e) {
		struct symbol *s = managed_waiting;
		struct image *image = atomic_load(&s->image);

		e = image ? image_load(image) : cudaSuccess;
		if (!e && image)
			e = from_driver(cuLibraryGetManaged(&address, &size, image->library, s->name));
		if (!e && image)
			*s->pointer = (void *)address;
		if (!e)
			managed_waiting = s->next_waiting;
	}
	atomic_store(&managed_waits, managed_waiting != NULL);
	pthread_mutex_unlock(&lock);
	return e;
}

/* ---- called by the program's constructors and destructors ---- */

void **rt___cudaRegisterFatBinary(void *fatCubin)
{
	struct image *image = calloc(1, sizeof *image);

	if (!image)
		return NULL;
	image->wrapper = fatCubin;
	image->self = image;
	return &image->self;
}

void rt___cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
	(void)fatCubinHandle;
}

void rt___cudaUnregisterFatBinary(void **fatCubinHandle)
{
	struct image *image = (struct image *)fatCubinHandle;
	struct symbol_table *t;

	if (!image)
		return;
	pthread_mutex_lock(&lock);
	t = atomic_load(&table);
	for (size_t i = 0; t && i < t->size; i++) {
		struct symbol *s = atomic_load(&t->slots[i]);
		if (s && atomic_load(&s->image) == image)
			atomic_store(&s->image, NULL);
	}
	for (struct symbol **p = &managed_waiting; *p;)
		if (atomic_load(&(*p)->image) == NULL)
			*p = (*p)->next_waiting;
		else
			p = &(*p)->next_waiting;
	if (image->loaded)
		cuLibraryUnload(image->library);
	pthread_mutex_unlock(&lock);
	free(image);
}

void rt___cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun, const char *deviceName,
	int thread_limit, void *tid, void *bid, void *bDim, void *gDim, int *wSize)
{
	(void)deviceFun, (void)thread_limit, (void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
	symbol_add(fatCubinHandle, hostFun, deviceName, SYMBOL_KERNEL, 0);
}

void rt___cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName, int ext,
	size_t size, int constant, int global)
{
	(void)deviceAddress, (void)ext, (void)constant, (void)global;
	symbol_add(fatCubinHandle, hostVar, deviceName, SYMBOL_VARIABLE, size);
}

void rt___cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
	const char *deviceName, int ext, size_t size, int constant, int global)
{
	struct symbol *s = symbol_add(fatCubinHandle, hostVarPtrAddress, deviceName, SYMBOL_MANAGED, size);

	(void)deviceAddress, (void)ext, (void)constant, (void)global;
	if (!s)
		return;
	s->pointer = hostVarPtrAddress;
	pthread_mutex_lock(&lock);
	s->next_managed = managed_all;
	managed_all = s;
	s->next_waiting = managed_waiting;
	managed_waiting = s;
	atomic_store(&managed_waits, true);
	pthread_mutex_unlock(&lock);
}

/* A host variable that device code reads through a table; the driver resolves it when the image is loaded. */
void rt___cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, char *hostVar, size_t size)
{
	(void)fatCubinHandle, (void)deviceName, (void)hostVar, (void)size;
}

void rt___cudaRegisterUnifiedTable(void **fatCubinHandle, void *table)
{
	(void)fatCubinHandle, (void)table;
}

/* The program is about to read a managed variable. */
char rt___cudaInitModule(void **fatCubinHandle)
{
	(void)fatCubinHandle;
	return runtime_start() == cudaSuccess;
}
