/*
 * module.h - code that the application has loaded: libraries, kernels, modules, functions.
 *
 *	CUlibrary ── CUkernel			belong to no context
 *	    │ program (struct code, loaded once, shared)
 *	CUmodule ── CUfunction			belong to a context: addresses of variables differ
 *
 * A library's module in a context is an ordinary module.  A function references its module and a module its program, so
 * a pending launch survives cuModuleUnload.  References in the other direction are handles, which may become stale.
 */
#pragma once

#include "backend/soft/core/soft.h"

/* Reference-counted code with its managed variables, which all contexts share. */
struct program {
	_Atomic unsigned refs;
	struct code *code;
	uint64_t *managed; /* address of each variable of the code; 0: not managed */
};

/* Attributes that cuFuncSetAttribute and cuKernelSetAttribute change. */
struct tuning {
	_Atomic int max_dynamic_shared; /* 0: not set, the limit without opting in applies */
	_Atomic int carveout;           /* -1: no preference */
	_Atomic int cluster[3];         /* 0: as compiled */
	_Atomic int non_portable_cluster;
	_Atomic int cluster_policy;
	_Atomic int cache_config;
};

struct module {
	struct driver_object object;
	struct program *program;
	uint64_t *globals;           /* address of each variable of the code */
	_Atomic uint64_t *functions; /* function handle of each kernel of the code; 0: not created yet */
};

/* Shape and parameters set by the legacy calls (cuFuncSetBlockShape, cuParamSet*) for cuLaunchGrid. */
struct legacy_launch {
	int block[3];
	unsigned shared, params_size;
	unsigned char params[4096];
};

struct function {
	struct driver_object object;
	struct module *module; /* referenced */
	const struct image_kernel *kernel;
	struct kernel *owner;  /* the CUkernel that it was created for, referenced, or NULL */
	struct tuning *tuning; /* own_tuning, or that of the CUkernel for this device */
	struct tuning own_tuning;
	pthread_mutex_t lock; /* legacy */
	struct legacy_launch *legacy;
};

struct library {
	struct driver_object object;
	const void *image; /* the application's, which keeps it until the code is loaded; NULL afterwards */
	pthread_mutex_t lock;
	struct program *program;
	CUresult failed;           /* the error of loading, which is tried once */
	_Atomic uint64_t *kernels; /* CUkernel handle of each kernel of the code */
	struct library_instance {
		struct library_instance *next;
		unsigned long long ctx_id;
		uint64_t module; /* handle */
	} *instances;
};

struct kernel {
	struct driver_object object;
	struct library *library; /* referenced */
	unsigned index;          /* in code->kernels */
	const struct image_kernel *kernel;
	struct program *program; /* referenced; owns `kernel` */
	struct tuning *tuning;   /* one per device */
	pthread_mutex_t lock;
	unsigned long long ctx_id; /* context of the last use */
	uint64_t function;         /* its function there */
};

/* The JIT options that have an effect. */
struct jit {
	struct engine_log info, error;
	void **info_size, **error_size, **wall_time; /* outputs */
	uint64_t start;                              /* CLOCK_MONOTONIC, ns */
};

CUresult jit_read(struct jit *jit, unsigned n, CUjit_option *options, void **values);
void jit_write_outputs(struct jit *jit);

/* Reports why no entry of the image suits the device, and returns CUDA_ERROR_NO_BINARY_FOR_GPU. */
CUresult explain_no_binary(const struct image *image, struct jit *jit);

CUresult program_load(const void *image, struct jit *jit, struct program **program);
CUresult program_load_bytes(const void *data, size_t size, struct jit *jit, struct program **program);
void program_ref(struct program *p);
void program_put(struct program *p);                           /* NULL is fine */
int program_kernel(const struct program *p, const char *name); /* index, or -1 */
int program_global(const struct program *p, const char *name);

CUresult module_create(struct context *ctx, struct program *p, struct module **m); /* with a reference for the caller */
bool module_close(struct module *m);                                               /* closes its functions, too */
CUresult module_global(struct module *m, const char *name, CUdeviceptr *addr, size_t *size);

/* The function of the kernel with index i, referenced.  owner: its CUkernel, or NULL. */
CUresult module_function(struct module *m, unsigned i, struct kernel *owner, struct function **f);

/*
 * Resolves a CUfunction, which may also be a CUkernel, to the function in the current context, referenced.
 * CUDA_ERROR_INVALID_HANDLE for other handles.
 */
CUresult function_enter(CUfunction handle, struct function **f);

/* The function of a kernel in a context, referenced. */
CUresult kernel_function(struct kernel *k, struct context *ctx, struct function **f);

/* Reads a whole file and puts a NUL behind it. 0 or -errno. */
int module_read_file(const char *name, void **data, size_t *size);
CUresult module_file_error(int err);

void tuning_init(struct tuning *t);
CUresult tuning_get(const struct image_kernel *k, struct code *code, const struct tuning *t, const struct device *d,
	CUfunction_attribute a, int *value);
CUresult tuning_set(const struct image_kernel *k, struct code *code, struct tuning *t, const struct device *d,
	CUfunction_attribute a, int value);
/* Offset and size of parameter i; size may be NULL. */
CUresult kernel_param(const struct image_kernel *k, size_t i, size_t *offset, size_t *size);
unsigned kernel_max_threads(const struct image_kernel *k, const struct device *d);
/* Largest dynamic shared memory of a launch. */
size_t tuning_max_dynamic(
	const struct image_kernel *k, struct code *code, const struct tuning *t, const struct device *d);

/* Static shared and local memory; the first call may parse the kernel's body. */
size_t kernel_shared_bytes(struct code *code, const struct image_kernel *k);
size_t kernel_local_bytes(struct code *code, const struct image_kernel *k);
