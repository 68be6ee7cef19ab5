/*
 * Start itself through every exec and spawn function, with an environment without our variables, and check the new
 * environment: the given variables, LD_AUDIT, the GANGWAY_ variables, and nothing else. Built with and without a PLT, with
 * immediate and lazy binding, as a program and as a library (run_library.c).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/check.h"

extern char **environ;

static char self[4096], audit[8192], command[4200];
static char *args[] = {self, "child", NULL};

enum way {
	EXECVE,
	EXECV,
	EXECVP,
	EXECVPE,
	EXECL,
	EXECLP,
	EXECLE,
	FEXECVE,
	EXECVEAT,
	SPAWN,
	SPAWNP,
	BY_NAME,
	BY_ADDRESS,
	VFORK,
	WAYS,
	SYSTEM = WAYS,
	POPEN
};

static int (*volatile by_address)(const char *, char *const[], char *const[]) = execve; /* bound by a data relocation */

static void start(enum way way, char **env)
{
	pid_t pid;
	int status = 0;

	environ = env;
	switch (way) {
	case EXECV:
		execv(self, args);
		break;
	case EXECVP:
		execvp(self, args);
		break;
	case EXECVPE:
		execvpe(self, args, env);
		break;
	case EXECL:
		execl(self, self, "child", NULL);
		break;
	case EXECLP:
		execlp(self, self, "child", NULL);
		break;
	case EXECLE:
		execle(self, self, "child", NULL, env);
		break;
	case FEXECVE:
		fexecve(open(self, O_RDONLY | O_CLOEXEC), args, env);
		break;
	case EXECVEAT:
		execveat(AT_FDCWD, self, args, env, 0);
		break;
	case SPAWN:
		if (!posix_spawn(&pid, self, NULL, NULL, args, env))
			waitpid(pid, &status, 0);
		_exit(status != 0);
	case SPAWNP:
		if (!posix_spawnp(&pid, self, NULL, NULL, args, env))
			waitpid(pid, &status, 0);
		_exit(status != 0);
	case BY_NAME: /* bound by dlsym, not by a relocation */
		if (!((int (*)(pid_t *, const char *, void *, void *, char **, char **))dlsym(
			    RTLD_DEFAULT, "posix_spawn"))(&pid, self, NULL, NULL, args, env))
			waitpid(pid, &status, 0);
		_exit(status != 0);
	case BY_ADDRESS:
		by_address(self, args, env);
		break;
	case SYSTEM:
		_exit(system(command));
	case POPEN:
		_exit(pclose(popen(command, "w")));
	case VFORK:
		pid = vfork();
		if (!pid) {
			execve(self, args, env);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		_exit(status != 0);
	default:
		execve(self, args, env);
	}
	_exit(1);
}

/* Returns the output of the child: its environment, one variable per line. */
static char *run(enum way way, char **env)
{
	static char text[1 << 16];
	int pipes[2], status = 0;
	size_t used = 0;
	ssize_t n;

	CHECK_EQ(pipe(pipes), 0);
	pid_t pid = fork();
	if (!pid) {
		dup2(pipes[1], 1);
		close(pipes[0]);
		close(pipes[1]);
		start(way, env);
	}
	close(pipes[1]);
	while (used < sizeof text - 1 && (n = read(pipes[0], text + used, sizeof text - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = 0;
	close(pipes[0]);
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	return text;
}

static void expect(enum way way, char **env, const char *want)
{
	const char *got = run(way, env);

	if (strcmp(got, want)) {
		fprintf(stderr, "way %d: environment of the child:\n%s---- expected:\n%s", way, got, want);
		failures++;
	}
}

static void every_way(void)
{
	char *env[] = {"A=1", "GANGWAY_TEST_B=theirs", "B=2", NULL}, want[16384];

	/* The given variables come first and keep their order; our variables follow if they are missing. */
	snprintf(want, sizeof want, "A=1\nGANGWAY_TEST_B=theirs\nB=2\nGANGWAY_TEST_A=ours\nLD_AUDIT=%s\n", audit);
	for (enum way w = 0; w < WAYS; w++)
		expect(w, env, want);
}

static void left_as_they_are(void)
{
	char *declined[] = {"A=1", "GANGWAY_FOLLOW=0", NULL}, inherited[8300], *whole[] = {inherited, "A=1", NULL},
	     want[8400];

	expect(EXECVE, declined, "A=1\nGANGWAY_FOLLOW=0\n");
	expect(SPAWN, declined, "A=1\nGANGWAY_FOLLOW=0\n");
	snprintf(inherited, sizeof inherited, "LD_AUDIT=%s", audit);
	snprintf(want, sizeof want, "%s\nA=1\n", inherited);
	expect(EXECVE, whole, want);
}

/* A foreign audit library stays in LD_AUDIT, after ours. */
static void others_audit(const char *other)
{
	char theirs[8300], *env[] = {"A=1", theirs, "B=2", NULL}, want[32768];

	snprintf(theirs, sizeof theirs, "LD_AUDIT=%s", other);
	snprintf(want, sizeof want, "A=1\nB=2\nGANGWAY_TEST_A=ours\nGANGWAY_TEST_B=our's too\nLD_AUDIT=%s:%s\n", audit,
		other);
	expect(EXECVE, env, want);
}

static void none_at_all(void)
{
	char *empty[] = {NULL}, want[16384];

	snprintf(want, sizeof want, "GANGWAY_TEST_A=ours\nGANGWAY_TEST_B=our's too\nLD_AUDIT=%s\n", audit);
	expect(EXECVE, empty, want);
	expect(EXECVE, NULL, want);
	expect(EXECV, NULL, want);
	expect(EXECL, NULL, want);
}

/* The shell adds its own variables: check only that the output contains all lines of `want`, or none of them. */
static void by_shell(char **env, const char *const *want, bool all)
{
	for (enum way w = SYSTEM; w <= POPEN; w++) {
		const char *got = run(w, env);

		for (int i = 0; want[i]; i++) {
			const char *at = strstr(got, want[i]);

			if ((at && (at == got || at[-1] == '\n')) == all)
				continue;
			fprintf(stderr, "way %d: environment of the child:\n%s---- with%s\n%s\n", w, got,
				all ? "out" : "", want[i]);
			failures++;
		}
	}
}

static void shells(void)
{
	char *env[] = {"A=1", "GANGWAY_TEST_A=theirs", NULL}, *declined[] = {"A=1", "GANGWAY_FOLLOW=0", NULL},
	     line[8300];
	const char *joined[] = {"A=1\n", "GANGWAY_TEST_A=theirs\n", "GANGWAY_TEST_B=our's too\n", line, NULL};
	const char *ours[] = {"GANGWAY_TEST_A=ours\n", "GANGWAY_TEST_B=our's too\n", line, NULL};

	snprintf(line, sizeof line, "LD_AUDIT=%s\n", audit);
	by_shell(env, joined, true);
	by_shell(NULL, ours, true);
	by_shell(declined, ours, false);
	environ = NULL;
	CHECK_EQ(system("exit 3"), 3 << 8);
	CHECK_EQ(system(NULL) != 0, 1);
}

static void failing(void)
{
	char *env[] = {"A=1", NULL}, *nothing[] = {"nosuch", NULL};
	pid_t pid;

	errno = 0;
	CHECK_EQ(execve("/nosuch/program", nothing, env), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(execle("/", "/", NULL, env), -1);
	CHECK_EQ(errno, EACCES);
	CHECK_EQ(posix_spawn(&pid, "/nosuch/program", NULL, NULL, nothing, env), ENOENT);
}

static int child(void)
{
	for (char **e = environ; *e; e++) {
		if ((strncmp(*e, "GANGWAY_", 8) && strncmp(*e, "GLIBC_TUNABLES", 14)) ||
			!strncmp(*e, "GANGWAY_TEST_", 13) || !strncmp(*e, "GANGWAY_FOLLOW", 14))
			printf("%s\n", *e);
	}
	return 0;
}

__attribute__((visibility("default"))) int main(int argc, char **argv);

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (argc > 1 && !strcmp(argv[1], "child"))
		return child();
	if (n < 0 || argc < 2 || !getenv("LD_AUDIT"))
		return fprintf(stderr, "gangway run follow OTHER-AUDIT-LIBRARY\n"), 1;
	snprintf(audit, sizeof audit, "%s", getenv("LD_AUDIT"));
	snprintf(command, sizeof command, "exec '%s' child", self);
	every_way();
	left_as_they_are();
	others_audit(argv[1]);
	none_at_all();
	failing();
	shells();
	return RESULT();
}
