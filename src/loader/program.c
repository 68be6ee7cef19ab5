/* Find out how a program is started: its loader, its interpreter, its privileges. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "loader/program.h"

#define SCRIPT_DEPTH 4 /* the kernel's limit */

#if defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_X86_64
#endif

/* Read PT_INTERP: the loader's path, or "" if there is none. Returns false for a malformed file. */
static bool read_interp(int fd, const Elf64_Ehdr *eh, char loader[PATH_MAX])
{
	Elf64_Phdr ph;

	loader[0] = 0;
	if (eh->e_phentsize != sizeof ph)
		return false;
	for (int i = 0; i < eh->e_phnum; i++) {
		if (pread(fd, &ph, sizeof ph, (off_t)(eh->e_phoff + (uint64_t)i * sizeof ph)) != sizeof ph)
			return false;
		if (ph.p_type != PT_INTERP)
			continue;
		if (!ph.p_filesz || ph.p_filesz > PATH_MAX ||
			pread(fd, loader, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz ||
			loader[ph.p_filesz - 1]) {
			loader[0] = 0;
			return false;
		}
		return true;
	}
	return true;
}

bool program_read_elf(int fd, struct program *p)
{
	Elf64_Ehdr eh;
	ssize_t n = pread(fd, &eh, sizeof eh, 0);

	if (n < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return false;
	p->bits = eh.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	p->machine = eh.e_machine; /* same offset in ELF32 and ELF64 */
	p->kind = PROGRAM_FOREIGN;
	if (p->bits != 64 || eh.e_ident[EI_DATA] != ELFDATA2LSB || p->machine != OUR_MACHINE)
		return true;
	p->kind = PROGRAM_UNKNOWN;
	if (n != sizeof eh || !read_interp(fd, &eh, p->loader))
		return true;
	if (!*p->loader)
		p->kind = PROGRAM_STATIC;
	else
		p->kind = strstr(p->loader, "/ld-musl") ? PROGRAM_MUSL : PROGRAM_DYNAMIC;
	return true;
}

bool program_read_script(int fd, char interpreter[PATH_MAX], char rest[256])
{
	char line[256] = "";
	ssize_t n = pread(fd, line, sizeof line - 1, 0);

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
	char *s = line + 2 + strspn(line + 2, " \t"), *end = s + strcspn(s, " \t");
	snprintf(interpreter, PATH_MAX, "%.*s", (int)(end - s), s);
	end += strspn(end, " \t");
	snprintf(rest, 256, "%s", end);
	return *interpreter;
}

/* Find the file that execvp would start, in PATH if the name has no slash. Returns 0 or an errno. */
static int find_executable(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");
	struct stat st;
	int why = ENOENT;

	if (strchr(name, '/') || !*name) {
		if (snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX)
			return ENAMETOOLONG;
		return stat(path, &st) ? errno : 0;
	}
	for (list = list ? list : "/bin:/usr/bin"; list; list = strchr(list, ':') ? strchr(list, ':') + 1 : NULL) {
		int n = (int)strcspn(list, ":");

		if (snprintf(path, PATH_MAX, "%.*s%s%s", n, list, n ? "/" : "", name) >= PATH_MAX || stat(path, &st) ||
			!S_ISREG(st.st_mode))
			continue;
		if (!access(path, X_OK))
			return 0;
		why = EACCES;
	}
	path[0] = 0;
	return why;
}

/* The program that env starts: its first word that is neither an option nor an assignment, or "". */
static void env_program(char *rest, char word[PATH_MAX])
{
	char *save, *w = strtok_r(rest, " \t", &save);

	while (w && (*w == '-' || strchr(w, '=')))
		w = strtok_r(NULL, " \t", &save);
	snprintf(word, PATH_MAX, "%s", w ? w : "");
}

/* Would the kernel set AT_SECURE for this file, so that the loader ignores the environment? */
static bool runs_secure(const char *path)
{
	struct stat st;
	struct statvfs fs;
	char caps[64];

	if (stat(path, &st) || statvfs(path, &fs) || (fs.f_flag & ST_NOSUID) ||
		prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return true;
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		return true;
	return getuid() && getxattr(path, "security.capability", caps, sizeof caps) > 0;
}

/* ld.so has no interpreter itself, but a program that is started through it does load libraries. */
static bool is_loader(const char *path)
{
	char real[PATH_MAX];
	const char *name = realpath(path, real) ? strrchr(real, '/') + 1 : path;

	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld.so", 5) ||
	       (!strncmp(name, "ld-", 3) && strstr(name, ".so"));
}

static void program_classify(struct program *p)
{
	if (p->kind == PROGRAM_STATIC && is_loader(p->path))
		p->kind = PROGRAM_DYNAMIC;
	if ((p->kind == PROGRAM_DYNAMIC || p->kind == PROGRAM_MUSL) && *p->loader && access(p->loader, F_OK))
		p->kind = PROGRAM_NO_LOADER;
	p->secure = runs_secure(p->path);
}

/* Classify p->path. Returns true if it is a script; `next` is then its interpreter. */
static bool program_step(struct program *p, char next[PATH_MAX])
{
	char interpreter[PATH_MAX], rest[256];
	int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool script = false;

	p->kind = PROGRAM_UNKNOWN;
	if (fd < 0)
		return false; /* executable, but not readable */
	if (!program_read_elf(fd, p))
		script = program_read_script(fd, interpreter, rest);
	close(fd);
	if (!script)
		return false;
	snprintf(next, PATH_MAX, "%s", interpreter);
	const char *slash = strrchr(interpreter, '/');
	if (slash && !strcmp(slash + 1, "env"))
		env_program(rest, next);
	return *next;
}

void program_inspect(const char *name, struct program *p)
{
	char next[PATH_MAX];

	memset(p, 0, sizeof *p);
	p->kind = PROGRAM_MISSING;
	p->error = find_executable(name, p->path);
	for (int i = 0; !p->error && i <= SCRIPT_DEPTH; i++) {
		if (!program_step(p, next)) {
			program_classify(p);
			return;
		}
		if (!i)
			memcpy(p->script, p->path, sizeof p->script);
		if (find_executable(next, p->path)) {
			p->kind = PROGRAM_NO_LOADER;
			memcpy(p->path, p->script, sizeof p->path);
			memcpy(p->loader, next, sizeof p->loader);
			return;
		}
	}
	if (!p->error)
		p->kind = PROGRAM_UNKNOWN;
}

/* Find a program in the PATH of another system; a name that is not found stays as it is. */
static void find_in_path(const struct sysroot *sys, const char *name, char path[PATH_MAX])
{
	const char *list = sysroot_env(sys, "PATH");

	for (list = strchr(name, '/') ? NULL
		    : list            ? list
				      : "/usr/bin:/bin";
		list && *list; list += strcspn(list, ":"), list += *list == ':')
		if (snprintf(path, PATH_MAX, "%.*s/%s", (int)strcspn(list, ":"), list, name) < PATH_MAX &&
			sysroot_is_file(sys, path))
			return;
	snprintf(path, PATH_MAX, "%s", name);
}

void program_inspect_in(const struct sysroot *sys, const char *name, struct program *p)
{
	char interpreter[PATH_MAX], rest[256];
	struct stat st;

	memset(p, 0, sizeof *p);
	p->kind = PROGRAM_MISSING;
	find_in_path(sys, name, p->path);
	for (int i = 0; i < 2; i++) {
		int fd = sysroot_open(sys, p->path);
		if (fd < 0) {
			p->error = -fd;
			p->kind = i ? PROGRAM_NO_LOADER : PROGRAM_MISSING;
			snprintf(p->loader, sizeof p->loader, "%s", p->path);
			return;
		}
		p->kind = PROGRAM_UNKNOWN;
		bool script = !program_read_elf(fd, p) && program_read_script(fd, interpreter, rest);
		close(fd);
		if (!script)
			break;
		snprintf(p->script, sizeof p->script, "%s", p->path);
		snprintf(p->path, sizeof p->path, "%s", interpreter);
	}
	if (*p->loader && sysroot_stat(sys, p->loader, &st))
		p->kind = PROGRAM_NO_LOADER;
	p->secure =
		!sysroot_stat(sys, p->path, &st) && (st.st_mode & (S_ISUID | S_ISGID)) && p->kind == PROGRAM_DYNAMIC;
}
