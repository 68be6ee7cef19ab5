/* The loader runs what a compiler emits, keeps code unwritable, and refuses every other object: object FOLDER */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ptx/jit/jit.h"
#include "ptx/jit/object.h"

struct warp {
	uint32_t calls, last;
};

static uint8_t bytes[1 << 16] __attribute__((aligned(16)));
static size_t size;

static void read_toy(const char *folder, const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s.o", folder, name);
	f = fopen(path, "r");
	size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
	if (!size)
		perror(path), exit(1);
	fclose(f);
}

static Elf64_Shdr *section_at(unsigned i)
{
	return (Elf64_Shdr *)(bytes + ((Elf64_Ehdr *)bytes)->e_shoff) + i;
}

static Elf64_Shdr *section_of_type(unsigned type)
{
	for (unsigned i = 0; i < ((Elf64_Ehdr *)bytes)->e_shnum; i++)
		if (section_at(i)->sh_type == type)
			return section_at(i);
	return NULL;
}

/* The access rights of the mapping that contains p, as in "r-xp". */
static void rights_of(const void *p, char rights[5])
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long low, high;
	char line[1024], r[5];

	strcpy(rights, "none");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %4s", &low, &high, r) == 3 && (uintptr_t)p >= low && (uintptr_t)p < high)
			memcpy(rights, r, 5);
	if (f)
		fclose(f);
}

static void test_run(void)
{
	uint32_t entries[] = {0, 5};
	struct jit_object o = {.bytes = bytes, .size = size, .entries = entries, .nentries = 2, .nsites = 7};
	struct warp w = {0};
	struct jit_code *code;
	char why[256], rights[5];

	CHECK_EQ(jit_code_create(&o, 10, &code, why, sizeof why), 0);
	if (!code)
		return;
	CHECK_EQ(code->run(&w, 0), 1u);
	CHECK_EQ(code->run(&w, 1), 17u + 9);
	CHECK_EQ(code->run(&w, 2), 24u);
	CHECK_EQ(code->run(&w, 3), ~3u);
	CHECK_EQ(code->run(&w, 9), 100u + 1000);
	CHECK_EQ(w.calls, 5u);
	CHECK_EQ(w.last, 9u);
	CHECK_EQ(code->entry_of[0], 0u);
	CHECK_EQ(code->entry_of[5], 1u);
	CHECK_EQ(code->entry_of[6], JIT_NO_ENTRY);
	CHECK_EQ(code->nsites, 7u);
	rights_of((void *)(uintptr_t)code->run, rights);
	CHECK(!strcmp(rights, "r-xp"));
	rights_of((uint8_t *)code->memory + code->size - 1, rights);
	CHECK(!strcmp(rights, "r--p"));
	void *memory = code->memory;
	jit_code_destroy(code);
	rights_of(memory, rights);
	CHECK(strcmp(rights, "r-xp"));
	entries[1] = 10; /* beyond the kernel */
	CHECK_EQ(jit_code_create(&o, 10, &code, why, sizeof why), -EINVAL);
}

static void refused(const char *what, const char *reason)
{
	struct object_image image;
	char why[256];
	int r = object_load(bytes, size, "kernel", &image, why, sizeof why);

	if (r != -EINVAL || !strstr(why, reason) || image.memory) {
		printf("%s: %d, %s\n", what, r, why);
		CHECK(0);
	}
	object_unload(&image);
}

static void test_refusals(const char *folder)
{
	struct object_image image;
	char why[256];

	read_toy(folder, "toy_outside");
	refused("a call of another object", "'outside'");
	read_toy(folder, "toy_data");
	refused("a variable", "neither code nor constants");
	read_toy(folder, "toy_kernel");
	CHECK_EQ(object_load(bytes, size, "other", &image, why, sizeof why), -EINVAL);
	((Elf64_Ehdr *)bytes)->e_machine = EM_AARCH64;
	refused("another machine", "x86-64");
	read_toy(folder, "toy_kernel");
	((Elf64_Ehdr *)bytes)->e_shoff = size - 8;
	refused("a section table at the end", "section table");
	read_toy(folder, "toy_kernel");
	section_of_type(SHT_PROGBITS)->sh_size = size * 2;
	refused("a long section", "outside the object");
	read_toy(folder, "toy_kernel");
	section_of_type(SHT_SYMTAB)->sh_link = 200;
	refused("a symbol table without names", "symbol table");
	for (unsigned kind = 0; kind < 4; kind++) {
		static const char *const reasons[] = {"outside its section", "is unknown", "has no symbol", "addend"};

		read_toy(folder, "toy_kernel");
		Elf64_Shdr *table = section_of_type(SHT_RELA);
		Elf64_Rela *r = (Elf64_Rela *)(bytes + table->sh_offset);

		if (kind == 0)
			r->r_offset = section_at(table->sh_info)->sh_size - 3;
		else if (kind == 1)
			r->r_info = ELF64_R_INFO(ELF64_R_SYM(r->r_info), R_X86_64_TPOFF32);
		else if (kind == 2)
			r->r_info = ELF64_R_INFO(1u << 20, R_X86_64_PC32);
		else
			r->r_addend = INT64_MIN;
		refused("a damaged relocation", reasons[kind]);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	read_toy(argv[1], "toy_kernel");
	test_run();
	test_refusals(argv[1]);
	for (size_t n = 0; n < size; n++) { /* every prefix */
		struct object_image image;
		char why[256];

		read_toy(argv[1], "toy_kernel");
		CHECK(object_load(bytes, n, "kernel", &image, why, sizeof why));
	}
	return RESULT();
}
