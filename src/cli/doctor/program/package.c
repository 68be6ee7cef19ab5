/* Recognise files of prebuilt packages, and packages that were built without CUDA. */
#include "cli/doctor/program/package.h"

#include <stdio.h>
#include <string.h>
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"

static const char *const package_folders[] = {"/site-packages/", "/dist-packages/", "/node_modules/"};

/* Libraries of frameworks, for copies outside of a folder of packages. */
static const char *const framework_names[] = {
	"libtorch", "libc10", "libxgboost", "libonnxruntime", "libtensorflow", "libxla"};

static const char *path_in_package(const char *path)
{
	for (size_t i = 0; i < sizeof package_folders / sizeof *package_folders; i++) {
		const char *at = strstr(path, package_folders[i]);

		if (at)
			return at + strlen(package_folders[i]);
	}
	return NULL;
}

bool package_is_prebuilt(const char *name, const char *path)
{
	const char *file = basename(name);

	if (path_in_package(path) || (is_cuda_library(name) && strncmp(file, "libggml", 7)))
		return true;
	for (size_t i = 0; i < sizeof framework_names / sizeof *framework_names; i++)
		if (!strncmp(file, framework_names[i], strlen(framework_names[i])))
			return true;
	return false;
}

const char *package_name(const char *path, char name[64])
{
	const char *inside = path_in_package(path);
	size_t n = inside ? strcspn(inside, "/.") : 0;

	snprintf(name, 64, "%.*s", (int)(n < 63 ? n : 63), inside ? inside : "");
	return name;
}

/* Read "__version__ = '2.5.1+cpu'" from torch/version.py, beside torch/lib. */
static void torch_version(const struct doctor *d, const char *folder, char version[64])
{
	char path[PATH_MAX + 32], text[4096], *at;

	snprintf(path, sizeof path, "%s/../version.py", folder);
	*version = 0;
	if (sysroot_read(&d->sysroot, path, text, sizeof text) <= 0 || !(at = strstr(text, "__version__ = '")))
		return;
	at += strlen("__version__ = '");
	snprintf(version, 64, " %.*s", (int)strcspn(at, "'\n") < 62 ? (int)strcspn(at, "'\n") : 62, at);
}

/* The interpreter that the user named, so that its pip changes the right packages. */
static const char *python_of(const struct doctor *d)
{
	const char *file = d->argv ? basename(d->argv[0]) : "";

	return strncmp(file, "python", 6) && strncmp(file, "pypy", 4) ? "python3" : d->argv[0];
}

bool package_check_cpu_only(struct doctor *d, const char *path)
{
	char folder[PATH_MAX], cuda[PATH_MAX + 32], version[64], python[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash || strcmp(slash + 1, "libtorch_cpu.so"))
		return false;
	snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
	snprintf(cuda, sizeof cuda, "%s/libtorch_cuda.so", folder);
	if (sysroot_is_file(&d->sysroot, cuda))
		return false;
	for (size_t i = 0; i < d->nfindings; i++)
		if (!strcmp(d->findings[i].probe, "process")) /* this is the cause */
			finding_settle(&d->findings[i]);
	torch_version(d, folder, version);
	command_quote(python_of(d), python, sizeof python);
	struct finding *f = finding_add(d, STATUS_WRONG,
		"PyTorch%s in %s was built without CUDA: it never loads a CUDA driver", version, folder);
	finding_detail(f, "torch.cuda.is_available() is False on every device.");
	finding_fix(f, "%s -m pip install --force-reinstall --index-url https://pypi.org/simple torch", python);
	return true;
}
