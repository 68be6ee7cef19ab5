/*
 * The cost that Gangway adds to the start of a program that does not use it: bench-start GANGWAY [RUNS [PROGRAM]]
 *
 * Starts programs alternately: unchanged, with the audit libraries, with our libraries preloaded, and with both. Prints
 * the lower quartile of the processor time in microseconds, because other load on the machine only adds time.
 */
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#define MOST 2000

enum how { NATIVE, AUDIT, BOTH_AUDITS, CUDA, NVML, ALL, HOWS };

static char audit[PATH_MAX], both[2 * PATH_MAX], cuda[PATH_MAX], nvml[PATH_MAX], preload[2 * PATH_MAX];

static double cpu_us(const struct rusage *r)
{
	return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) * 1e6 +
	       (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec);
}

static double once(char **argv, enum how how)
{
	posix_spawn_file_actions_t actions;
	char *env[8] = {"PATH=/usr/bin:/bin:/usr/sbin", "HOME=/"};
	int n = 2, status = 0;
	struct rusage usage;
	pid_t pid;

	if (how == AUDIT)
		env[n++] = audit;
	if (how == BOTH_AUDITS || how == ALL)
		env[n++] = both;
	if (how >= CUDA)
		env[n++] = how == CUDA ? cuda : how == NVML ? nvml : preload;
	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, env))
		return -1;
	wait4(pid, &status, 0, &usage);
	posix_spawn_file_actions_destroy(&actions);
	return cpu_us(&usage);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(char **argv, int runs)
{
	static double times[HOWS][MOST];

	for (int i = 0; i < runs; i++)
		for (int h = 0; h < HOWS; h++)
			times[(h + i) % HOWS][i] = once(argv, (h + i) % HOWS);
	for (int h = 0; h < HOWS; h++)
		qsort(times[h], (size_t)runs, sizeof(double), compare);
	printf("%-17s %8.0f", argv[0], times[NATIVE][runs / 4]);
	for (int h = AUDIT; h < HOWS; h++)
		printf(" %+8.0f", times[h][runs / 4] - times[NATIVE][runs / 4]);
	printf("\n");
}

int main(int argc, char **argv)
{
	static char *programs[][4] = {
		{"true"},
		{"bash", "-c", ":"},
		{"sshd", "-t"},
		{"/usr/bin/python3", "-S", "-c", ""},
		{"/usr/bin/node", "-e", ""},
	};
	static const int share[] = {1, 1, 2, 4, 10}; /* slow programs run less often */
	char dir[PATH_MAX - 64], file[PATH_MAX];
	int runs = argc > 2 ? atoi(argv[2]) : 500;

	if (argc < 2 || runs < 1 || runs > MOST)
		return fprintf(stderr, "usage: bench-start GANGWAY [RUNS [PROGRAM]]\n"), 2;
	snprintf(file, sizeof file, "%s", argv[1]);
	if (strrchr(file, '/'))
		*strrchr(file, '/') = 0;
	snprintf(dir, sizeof dir, "%.3900s/../lib/gangway", file);
	char *real = realpath(dir, NULL);
	if (!real)
		return fprintf(stderr, "no %s\n", dir), 1;
	snprintf(audit, sizeof audit, "LD_AUDIT=%s/libgangway-audit.so", real);
	snprintf(both, sizeof both, "LD_AUDIT=%s/libgangway-follow.so:%s/libgangway-audit.so", real, real);
	snprintf(cuda, sizeof cuda, "LD_PRELOAD=%s/libcuda.so.1", real);
	snprintf(nvml, sizeof nvml, "LD_PRELOAD=%s/libnvidia-ml.so.1", real);
	snprintf(preload, sizeof preload, "%s:%s/libnvidia-ml.so.1", cuda, real);
	printf("processor time from start to end, us, and what comes on top\n%-17s %8s %8s %8s %8s %8s %8s\n", "",
		"native", "audit", "+follow", "cuda", "nvml", "all");
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (argc < 4 || !strcmp(argv[3], programs[i][0]))
			measure(programs[i], runs / share[i] ? runs / share[i] : 1);
	free(real);
	return 0;
}
