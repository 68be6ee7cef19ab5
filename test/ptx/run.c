/*
 * ptx-run: runs spec files (spec.h) and prints the values that differ from the expected ones.
 *
 *	ptx-run [--cuda] FILE|FOLDER...
 *
 * Uses our interpreter or, with --cuda, the libcuda.so.1 that the loader finds: with NVIDIA's driver, a GPU judges the
 * files themselves.  Files that need a newer GPU are skipped.
 */
#include "spec.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static run_fn *run = run_interp;
static unsigned files, failed, skipped;

static bool run_apart(const char *path)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0) {
		if (!freopen("/dev/null", "w", stdout)) /* hide the child's count of files */
			_exit(1);
		execl("/proc/self/exe", "ptx-run", "--cuda", path, NULL);
		_exit(1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool run_file(const char *path, bool in_folder)
{
	struct spec *s = spec_read(path);
	char message[2000] = "";
	bool ok;
	int r;

	if (!s || s->why[0]) {
		fprintf(stderr, "%s: %s\n", path, s ? s->why : "cannot be read");
		spec_free(s);
		return false;
	}
	if (run == run_cuda && cuda_is_too_old(s)) {
		skipped++;
		spec_free(s);
		return true;
	}
	if (s->error && run == run_cuda && in_folder) { /* a fault is sticky: run the file in another process */
		spec_free(s);
		return run_apart(path);
	}
	r = run(s, message, sizeof message);
	ok = r == (s->refuse ? -1 : s->error);
	if (!ok)
		fprintf(stderr, "%s: the launch gave %d, not %d: %s\n", path, r, s->refuse ? -1 : s->error, message);
	else if (r == 0)
		ok = spec_compare(s, path) == 0;
	spec_free(s);
	return ok;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_path(const char *path, bool in_folder)
{
	struct dirent **list;
	struct stat st;
	char *names[4096];
	int n = 0, total;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		files++;
		failed += !run_file(path, in_folder);
		return;
	}
	total = scandir(path, &list, NULL, NULL);
	for (int i = 0; i < total; i++) {
		if (list[i]->d_name[0] != '.' && n < 4096 && asprintf(&names[n], "%s/%s", path, list[i]->d_name) > 0)
			n++;
		free(list[i]);
	}
	if (total >= 0)
		free(list);
	qsort(names, (size_t)n, sizeof names[0], by_name);
	for (int i = 0; i < n; i++) {
		size_t len = strlen(names[i]);

		if (!stat(names[i], &st) && (S_ISDIR(st.st_mode) || (len > 4 && !strcmp(names[i] + len - 4, ".ptx"))))
			run_path(names[i], true);
		free(names[i]);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--cuda"))
			run = run_cuda;
		else
			run_path(argv[i], false);
	}
	printf("%u files, %u failed", files, failed);
	if (skipped)
		printf(", %u need a newer device", skipped);
	printf("\n");
	return failed || !files;
}
