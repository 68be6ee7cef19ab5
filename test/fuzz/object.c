/* For any program or library file, doctor's reader parses or refuses it; it never reads out of bounds or loops. */
#include <string.h>
#include "loader/elf_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* keeps the compiler from removing the reads */

static void touch(const char *text)
{
	if (text)
		sink += strlen(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_object o;
	const char *name;

	if (elf_object_init(&o, data, size))
		return 0;
	touch(o.soname);
	touch(o.rpath);
	touch(o.runpath);
	touch(o.build_id);
	for (unsigned i = 0; i < o.nneeded; i++)
		touch(o.needed[i]);
	for (unsigned i = 0; i < o.nnodes; i++)
		touch(o.nodes[i]);
	for (unsigned i = 0; i < o.nwants; i++)
		touch(o.wants[i].file), touch(o.wants[i].node);
	for (uint32_t at = 0; (name = elf_object_undefined(&o, &at));)
		touch(name);
	sink += elf_object_exports(&o, "cuInit") + elf_object_exports(&o, "cudaMalloc") +
		elf_object_has_section(&o, ".nv_fatbin");
	return 0;
}
