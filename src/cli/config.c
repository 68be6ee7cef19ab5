/* gangway config: prints flags and paths for builds. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"

static const char usage[] =
	"usage: gangway config OPTION...\n\n"
	"Print flags and paths for building programs with Gangway, on one line:\n\n"
	"  --ldflags    linker flags for machines without a CUDA driver: the folder of the stub libraries, also\n"
	"               for a driver that is needed only by another library\n"
	"  --libs       the -l flag of each library\n"
	"  --cflags     the -I flag for cuda.h, from CUDA_PATH, CUDA_HOME or /usr/local/cuda. Gangway contains no\n"
	"               headers\n"
	"  --stubs      the folder of the stub libraries, which are for linking only\n"
	"  --libdir     the folder of the libraries that programs run with\n"
	"  --cmake      a folder for CMAKE_MODULE_PATH; with it, find_package(CUDAToolkit) uses the stubs\n"
	"  --pkgconfig  a folder for PKG_CONFIG_PATH, with packages such as gangway and gangway-cuda\n"
	"  --help       show this text\n\n"
	"    cc -o program program.o library.so $(gangway config --ldflags --libs)\n"
	"    LDFLAGS=\"$(gangway config --ldflags)\" ./configure\n"
	"    cmake -DCMAKE_MODULE_PATH=\"$(gangway config --cmake)\" ...\n";

/* Our output is split into words by a shell, and quoting would not survive that. */
static int check_path(const char *path)
{
	if (!path[strcspn(path, " \t\n'\"\\$`;&|<>*?()[]")])
		return 0;
	return cli_fail("%s contains a character that is special to the shell; install into another folder, or use the "
			"CMake package",
		path);
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
	return cli_fail(
		"found no include/cuda.h in CUDA_PATH, CUDA_HOME or /usr/local/cuda; install a CUDA toolkit, because "
		"Gangway contains no headers");
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

static const struct config_option {
	const char *option;
	int (*print)(const char *dir); /* dir is .../lib/gangway */
} config_options[] = {
	{"--ldflags", print_ldflags},
	{"--libs", print_libs},
	{"--cflags", print_cflags},
	{"--stubs", print_stubs},
	{"--libdir", print_libdir},
	{"--cmake", print_cmake},
	{"--pkgconfig", print_pkgconfig},
};

#define OPTIONS (sizeof config_options / sizeof *config_options)

static const struct config_option *find_option(const char *option)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (!strcmp(option, config_options[i].option))
			return &config_options[i];
	return NULL;
}

int cmd_config(int argc, char **argv)
{
	char dir[PATH_MAX];

	if (argc < 2)
		return cli_usage("config", "no option given");
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return 0;
		}
		if (!find_option(argv[i]))
			return cli_usage("config", "unknown option %s", argv[i]);
	}
	if (cli_require_libraries(dir, sizeof dir))
		return 1;
	for (int i = 1; i < argc; i++) {
		int r = find_option(argv[i])->print(dir);
		if (r)
			return r;
		putchar(i + 1 < argc ? ' ' : '\n');
	}
	return 0;
}
