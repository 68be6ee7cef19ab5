/*
 * ptx_code.h - the kernels and variables of parsed PTX, in the form that an engine returns to the software driver.
 *
 * src/ptx is the only reader of PTX declarations; this is how its modules become a struct image_code.
 */
#pragma once

#include "image/image.h"
#include "ptx/ptx.h"

/*
 * Lists the kernels and variables of n modules: one module alone, or several that ptx_link has joined. Declarations
 * for which the linker chose a definition elsewhere are left out. Names belong to the modules, which must outlive the
 * code; `piece` is the index of the module. Kernels are `unmeasured`. Returns 0 or -ENOMEM.
 */
int ptx_code_create(struct image_code **code, struct ptx_module *const *modules, unsigned n);

/*
 * Sets the static shared and local memory of a kernel, for which its body and those of its callees are parsed. Returns
 * what ptx_kernel_layout does, and -E2BIG for more shared memory than 32 bits count; after an error the sizes are 0.
 * The caller holds the lock of the modules.
 */
int ptx_code_measure(struct image_kernel *kernel, struct ptx_function *function);
