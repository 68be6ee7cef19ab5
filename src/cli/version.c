/* gangway version: prints version, build and library paths. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "audit/files.h"
#include "cli/cli.h"
#include "gen/version.h"
#include "util/build_note.h"

static const char usage[] =
	"usage: gangway version\n\n"
	"Print the version, the build of this program and of each Gangway library, and the paths of the\n"
	"libraries. The first line is also an ELF note in every file: readelf -p .note.gangway FILE\n";

static void print_library(const char *dir, const char *name)
{
	char path[PATH_MAX + 64], text[256];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (!build_note_read(path, text, sizeof text))
		printf("%-20s missing: %s\n", name, path);
	else if (strcmp(text, build_note_text))
		printf("%-20s another build: %s\n", name, text);
	else
		printf("%-20s same build: %s\n", name, path);
}

/* The kernel compiler is optional: without it the CPU device interprets. */
#define JIT_PLUGIN "libgangway-jit.so"

static void print_jit(const char *dir)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof path, "%s/" JIT_PLUGIN, dir);
	if (access(path, F_OK))
		printf("%-20s not in this build: the CPU device interprets\n", JIT_PLUGIN);
	else
		print_library(dir, JIT_PLUGIN);
}

int cmd_version(int argc, char **argv)
{
	char dir[PATH_MAX];

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc > 1)
		return cli_usage("version", "unexpected argument %s", argv[1]);
	printf("%s\ndriver interface %s (CUDA 13.0)\n", build_note_text, GANGWAY_DRIVER_VERSION);
	if (cli_require_libraries(dir, sizeof dir))
		return 1;
#define LIBRARY(name, soname, link) print_library(dir, soname);
#include "gen/libraries.def"
#undef LIBRARY
	print_library(dir, "libgangway-soft.so");
	print_jit(dir);
	print_library(dir, "cpu/libcublas.so.12");
	print_library(dir, "cpu/libcublas.so.13");
	print_library(dir, "cpu/libcublasLt.so.12");
	print_library(dir, "cpu/libcublasLt.so.13");
	print_library(dir, "cpu/libnvJitLink.so.12");
	print_library(dir, "cpu/libnvJitLink.so.13");
	print_library(dir, "cudart/libcudart.so.12");
	print_library(dir, "cudart/libcudart.so.13");
	print_library(dir, AUDIT_REDIRECT);
	print_library(dir, AUDIT_FOLLOW);
	return 0;
}
