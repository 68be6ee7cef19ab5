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

#define SCRIPTS 4 /* as the kernel counts */

#if defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_X86_64
#endif

/* A loader's path, or "" where the file has none; false: not what a loader would accept. */
static bool read_loader(int fd, const Elf64_Ehdr *eh, char loader[PATH_MAX])
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
	p->machine = eh.e_machine; /* at the same place in both */
	p->kind = PROGRAM_FOREIGN;
	if (p->bits != 64 || eh.e_ident[EI_DATA] != ELFDATA2LSB || p->machine != OUR_MACHINE)
		return true;
	p->kind = PROGRAM_UNKNOWN;
	if (n != sizeof eh || !read_loader(fd, &eh, p->loader))
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

/* The file that execvp would take, in PATH if the name has no slash; else errno. */
static int search(const char *name, char path[PATH_MAX])
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

/* env's first word that is neither an option nor an assignment; "": none. */
static void env_word(char *rest, char word[PATH_MAX])
{
	char *save, *w = strtok_r(rest, " \t", &save);

	while (w && (*w == '-' || strchr(w, '=')))
		w = strtok_r(NULL, " \t", &save);
	snprintf(word, PATH_MAX, "%s", w ? w : "");
}

/* As the kernel sets AT_SECURE when it executes the file for us. */
static bool is_secure(const char *path)
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

/* Started by hand, ld.so has no interpreter of its own, but the program behind it has libraries. */
static bool is_loader(const char *path)
{
	char real[PATH_MAX];
	const char *name = realpath(path, real) ? strrchr(real, '/') + 1 : path;

	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld.so", 5) ||
	       (!strncmp(name, "ld-", 3) && strstr(name, ".so"));
}

static void finish(struct program *p)
{
	if (p->kind == PROGRAM_STATIC && is_loader(p->path))
		p->kind = PROGRAM_DYNAMIC;
	if ((p->kind == PROGRAM_DYNAMIC || p->kind == PROGRAM_MUSL) && *p->loader && access(p->loader, F_OK))
		p->kind = PROGRAM_NO_LOADER;
	p->secure = is_secure(p->path);
}

/* One step: what p->path is.  True: a script, and `next` is what interprets it. */
static bool step(struct program *p, char next[PATH_MAX])
{
	char interpreter[PATH_MAX], rest[256];
	int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool script = false;

	p->kind = PROGRAM_UNKNOWN;
	if (fd < 0)
		return false; /* may be executed, but not read */
	if (!program_read_elf(fd, p))
		script = program_read_script(fd, interpreter, rest);
	close(fd);
	if (!script)
		return false;
	snprintf(next, PATH_MAX, "%s", interpreter);
	const char *slash = strrchr(interpreter, '/');
	if (slash && !strcmp(slash + 1, "env"))
		env_word(rest, next);
	return *next;
}

void program_look(const char *name, struct program *p)
{
	char next[PATH_MAX];

	memset(p, 0, sizeof *p);
	p->kind = PROGRAM_MISSING;
	p->error = search(name, p->path);
	for (int i = 0; !p->error && i <= SCRIPTS; i++) {
		if (!step(p, next)) {
			finish(p);
			return;
		}
		if (!i)
			memcpy(p->script, p->path, sizeof p->script);
		if (search(next, p->path)) {
			p->kind = PROGRAM_NO_LOADER;
			memcpy(p->path, p->script, sizeof p->path);
			memcpy(p->loader, next, sizeof p->loader);
			return;
		}
	}
	if (!p->error)
		p->kind = PROGRAM_UNKNOWN;
}
