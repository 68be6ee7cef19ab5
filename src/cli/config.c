#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"

static const char usage[] =
	"usage: gangway config OPTION...\n\n"
	"Prints what a build needs, on one line:\n\n"
	"  --ldflags    for linking on a machine without a driver: where the stubs are, also for a linker that\n"
	"               follows what a library in between needs\n"
	"  --libs       -l for each library\n"
	"  --cflags     where cuda.h is: CUDA_PATH, CUDA_HOME or /usr/local/cuda. Gangway brings no headers\n"
	"  --stubs      the folder of the stubs, for linking only\n"
	"  --libdir     the folder of the libraries that programs run with\n"
	"  --cmake      a folder for CMAKE_MODULE_PATH, with which find_package(CUDAToolkit) takes our stubs\n"
	"  --pkgconfig  a folder for PKG_CONFIG_PATH; the packages are gangway and gangway-cuda\n"
	"  --help       this text\n\n"
	"    cc -o program program.o library.so $(gangway config --ldflags --libs)\n"
	"    LDFLAGS=\"$(gangway config --ldflags)\" ./configure\n"
	"    cmake -DCMAKE_MODULE_PATH=\"$(gangway config --cmake)\" ...\n";

/* A shell takes our words apart at white space, and nothing could keep them together. */
static int check_path(const char *path)
{
	if (!path[strcspn(path, " \t\n'\"\\$`;&|<>*?()[]")])
		return 0;
	return cli_fail("%s has a character that a shell would not leave alone: use another folder, or CMake", path);
}

static int print_ldflags(const char *dir)
{
	int r = check_path(dir);

	if (!r)
		printf("-L%s/stubs -Wl,-rpath-link,%s/stubs", dir, dir);
	return r;
}

static int print_libs(const char *dir)
{
	static const char *const names[] = {
#define LIBRARY(name, soname, link) link,
#include "gen/libraries.def"
#undef LIBRARY
	};

	(void)dir;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		printf("%s-l%s", i ? " " : "", names[i]);
	return 0;
}

static int print_cflags(const char *dir)
{
	const char *places[] = {getenv("CUDA_PATH"), getenv("CUDA_HOME"), "/usr/local/cuda", NULL};
	char path[PATH_MAX];

	(void)dir;
	for (int i = 0; i < 3; i++) {
		if (!places[i] || snprintf(path, sizeof path, "%s/include/cuda.h", places[i]) >= (int)sizeof path ||
			access(path, R_OK))
			continue;
		if (check_path(places[i]))
			return 1;
		printf("-I%s/include", places[i]);
		return 0;
	}
	return cli_fail("no include/cuda.h in CUDA_PATH, CUDA_HOME or /usr/local/cuda: install a CUDA toolkit, Gangway "
			"brings no headers");
}

static int print_stubs(const char *dir)
{
	printf("%s/stubs", dir);
	return 0;
}

static int print_libdir(const char *dir)
{
	printf("%s", dir);
	return 0;
}

static int print_cmake(const char *dir)
{
	printf("%.*s/cmake/Gangway/toolkit", (int)(strrchr(dir, '/') - dir), dir);
	return 0;
}

static int print_pkgconfig(const char *dir)
{
	printf("%.*s/pkgconfig", (int)(strrchr(dir, '/') - dir), dir);
	return 0;
}

static const struct question {
	const char *option;
	int (*print)(const char *dir); /* dir: .../lib/gangway */
} questions[] = {
	{"--ldflags", print_ldflags},
	{"--libs", print_libs},
	{"--cflags", print_cflags},
	{"--stubs", print_stubs},
	{"--libdir", print_libdir},
	{"--cmake", print_cmake},
	{"--pkgconfig", print_pkgconfig},
};

#define COUNT (sizeof questions / sizeof *questions)

static const struct question *find(const char *option)
{
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(option, questions[i].option))
			return &questions[i];
	return NULL;
}

int cmd_config(int argc, char **argv)
{
	char dir[PATH_MAX];

	if (argc < 2)
		return cli_usage("config", "what of it?");
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return 0;
		}
		if (!find(argv[i]))
			return cli_usage("config", "there is no option %s", argv[i]);
	}
	if (!cli_library_dir(dir, sizeof dir))
		return cli_fail("no ../lib/gangway beside this program: is the installation complete?");
	for (int i = 1; i < argc; i++) {
		int r = find(argv[i])->print(dir);
		if (r)
			return r;
		putchar(i + 1 < argc ? ' ' : '\n');
	}
	return 0;
}
