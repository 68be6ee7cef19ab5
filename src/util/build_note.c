/* Read the build note of an ELF file. */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "util/build_note.h"

/* Find our note among the notes of a segment. */
static bool notes_search(const char *p, size_t n, char *text, size_t size)
{
	while (n >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;
		memcpy(&h, p, sizeof h);
		size_t name = ((size_t)h.n_namesz + 3) & ~3ul, desc = ((size_t)h.n_descsz + 3) & ~3ul;
		if (name > n - sizeof h || desc > n - sizeof h - name)
			return false;
		p += sizeof h;
		if (h.n_namesz == sizeof BUILD_NOTE_OWNER && !memcmp(p, BUILD_NOTE_OWNER, sizeof BUILD_NOTE_OWNER)) {
			snprintf(text, size, "%.*s", (int)h.n_descsz, p + name);
			return true;
		}
		p += name + desc;
		n -= sizeof h + name + desc;
	}
	return false;
}

static bool segment_search(int fd, const Elf64_Phdr *ph, char *text, size_t size)
{
	char buf[4096];

	if (ph->p_type != PT_NOTE || ph->p_filesz > sizeof buf)
		return false;
	ssize_t n = pread(fd, buf, ph->p_filesz, ph->p_offset);
	return n > 0 && notes_search(buf, n, text, size);
}

bool build_note_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	bool found = false;

	if (fd < 0)
		return false;
	if (pread(fd, &eh, sizeof eh, 0) == sizeof eh && !memcmp(eh.e_ident, ELFMAG, SELFMAG) &&
		eh.e_phentsize == sizeof ph)
		for (int i = 0; i < eh.e_phnum && !found; i++)
			if (pread(fd, &ph, sizeof ph, eh.e_phoff + i * sizeof ph) == sizeof ph)
				found = segment_search(fd, &ph, text, size);
	close(fd);
	return found;
}
