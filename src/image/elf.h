/*
 * elf.h - sections of a 64-bit little-endian ELF file. Every section is checked to lie inside the file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct elf {
	const char *data;
	size_t size;
	uint64_t shoff;
	uint32_t nsections;
	const char *names; /* section names; the last byte is a NUL, so every offset inside is a string */
	size_t names_size;
};

struct elf_section {
	const char *name;
	uint32_t type, link, info;
	uint64_t size;
	const char *data; /* NULL: the section has no bytes in the file */
};

int image_elf_init(struct elf *elf, const void *data, size_t size);
int image_elf_section(const struct elf *elf, uint32_t index, struct elf_section *section);
