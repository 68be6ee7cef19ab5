/*
 * module.h - code the application has loaded, and what it finds in it.
 *
 *	CUlibrary ── CUkernel			belong to no context
 *	    │ program (struct code, loaded once, shared)
 *	CUmodule ── CUfunction			belong to a context: addresses of variables differ
 *
 * A module made for a library in some context is an ordinary module.  A function keeps its module alive and a
 * module its code, so that a launch in flight survives cuModuleUnload.  The way down is by handles, which go
 * stale harmlessly.
 */
#pragma once

#include "backend/soft/core/soft.h"

/* Code, counted, and its managed variables, which are the same for all contexts. */
struct program {
	_Atomic unsigned refs;
	struct code *code;
	uint64_t *managed; /* addresses, one a variable of the code; 0: not managed */
};

/* What cuFuncSetAttribute and cuKernelSetAttribute change. */
struct tuning {
	_Atomic int max_dynamic_shared; /* 0: not set, what fits without opting in */
	_Atomic int carveout;           /* -1: no preference */
	_Atomic int cluster[3];         /* 0: as compiled */
	_Atomic int non_portable_cluster;
	_Atomic int cluster_policy;
	_Atomic int cache_config;
};

struct module {
	struct driver_object object;
	struct program *program;
	uint64_t *globals;           /* addresses, one a variable of the code */
	_Atomic uint64_t *functions; /* handles, one a kernel of the code; 0: not asked for yet */
};

/* Parameters and shape collected by the calls of old, before cuLaunchKernel. */
struct old_launch {
	int block[3];
	unsigned shared, params_size;
	unsigned char params[4096];
};

struct function {
	struct driver_object object;
	struct module *module; /* referenced */
	const struct image_kernel *kernel;
	struct kernel *owner;  /* the CUkernel behind it, referenced, or NULL */
	struct tuning *tuning; /* own, or the kernel's for this device */
	struct tuning own;
	pthread_mutex_t lock; /* old */
	struct old_launch *old;
};

struct library {
	struct driver_object object;
	const void *image; /* the application's, if it promised to keep it; NULL once loaded */
	pthread_mutex_t lock;
	struct program *program;
	CUresult failed;           /* why it could not be loaded */
	_Atomic uint64_t *kernels; /* handles, one a kernel of the code */
	struct instance {
		struct instance *next;
		unsigned long long ctx_id;
		uint64_t module; /* handle */
	} *instances;
};

struct kernel {
	struct driver_object object;
	struct library *library; /* referenced */
	unsigned index;          /* in code->kernels */
	const struct image_kernel *kernel;
	struct program *program; /* referenced: keeps `kernel` valid */
	struct tuning *tuning;   /* one a device */
	pthread_mutex_t lock;
	unsigned long long ctx_id; /* where it was used last, and the function there */
	uint64_t function;
};

/* JIT options, as far as they mean something here. */
struct jit {
	struct engine_log info, error;
	void **info_size, **error_size, **wall_time; /* where the answers go */
	uint64_t began;                              /* ns, CLOCK_MONOTONIC */
};

CUresult jit_read(struct jit *jit, unsigned n, CUjit_option *options, void **values);
void jit_answer(struct jit *jit);

/* Says why nothing in the image fits, and returns CUDA_ERROR_NO_BINARY_FOR_GPU. */
CUresult explain_no_binary(const struct image *image, struct jit *jit);

CUresult program_load(const void *image, struct jit *jit, struct program **program);
CUresult program_load_bytes(const void *data, size_t size, struct jit *jit, struct program **program);
void program_ref(struct program *p);
void program_put(struct program *p);                           /* NULL is fine */
int program_kernel(const struct program *p, const char *name); /* index, or -1 */
int program_global(const struct program *p, const char *name);

CUresult module_create(struct context *ctx, struct program *p, struct module **m); /* and a reference */
bool module_close(struct module *m);                                               /* and its functions */
CUresult module_global(struct module *m, const char *name, CUdeviceptr *addr, size_t *size);

/* The function for kernel number i, referenced.  owner: the CUkernel it is made for, or NULL. */
CUresult module_function(struct module *m, unsigned i, struct kernel *owner, struct function **f);

/*
 * What the application means by a CUfunction, referenced: a function, or a CUkernel in the current context.
 * CUDA_ERROR_INVALID_HANDLE for anything else.
 */
CUresult function_enter(CUfunction handle, struct function **f);

/* The function of a kernel in a context, referenced. */
CUresult kernel_function(struct kernel *k, struct context *ctx, struct function **f);

int module_read_file(const char *name, void **data, size_t *size); /* and a NUL behind; 0 or -errno */
CUresult module_file_error(int err);

void tuning_init(struct tuning *t);
CUresult tuning_get(const struct image_kernel *k, struct code *code, const struct tuning *t, const struct device *d,
	CUfunction_attribute a, int *value);
CUresult tuning_set(const struct image_kernel *k, struct code *code, struct tuning *t, const struct device *d,
	CUfunction_attribute a, int value);
/* Where parameter i lies; size may be NULL. */
CUresult kernel_param(const struct image_kernel *k, size_t i, size_t *offset, size_t *size);
unsigned kernel_max_threads(const struct image_kernel *k, const struct device *d);
size_t tuning_max_dynamic(
	const struct image_kernel *k, struct code *code, const struct tuning *t, const struct device *d);

/* Static shared and local memory; the first call may parse the kernel's body. */
size_t kernel_shared_bytes(struct code *code, const struct image_kernel *k);
size_t kernel_local_bytes(struct code *code, const struct image_kernel *k);
