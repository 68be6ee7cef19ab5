/* A file for `gangway run` to start: its ELF headers, its #! line. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "loader/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct program p;
	static char interpreter[PATH_MAX], rest[256];
	int fd = memfd_create("program", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size) {
		memset(&p, 0x5a, sizeof p);
		if (program_read_elf(fd, &p) && (p.kind == PROGRAM_DYNAMIC || p.kind == PROGRAM_MUSL) &&
			strnlen(p.loader, PATH_MAX) == PATH_MAX)
			__builtin_trap(); /* not terminated */
		if (program_read_script(fd, interpreter, rest) && (!*interpreter || strlen(interpreter) >= 256))
			__builtin_trap();
	}
	close(fd);
	return 0;
}
