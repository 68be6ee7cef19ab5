/*
 * Start a program with a new environment by the system call, without libc, as Go does: raw_exec HOW DIR PROGRAM [ARGUMENTS]
 *
 * The environment contains only LD_LIBRARY_PATH=DIR, unless HOW adds to it:
 *	self      execve in this process       thread  execve in a second thread
 *	child     execve after fork            vfork   execve after vfork
 *	failed    execve after a failed execve, 100 signals and a stop
 *	many      add 2000 variables           huge    fill the environment so that nothing fits any more
 *	declined  add GANGWAY_FOLLOW=0         other   add a foreign LD_AUDIT
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 20000

static char *env[MOST + 4], **words;
static int nenv;
static volatile sig_atomic_t heard;

static void hear(int signal)
{
	(void)signal;
	heard++;
}

static void *start(void *arg)
{
	syscall(SYS_execve, words[0], words, env);
	_exit(126);
	return arg;
}

static int wait_for(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

static int after_failure(void)
{
	char *none[] = {NULL};

	if (syscall(SYS_execve, "/no/such/program", words, none) != -1)
		return 124;
	signal(SIGUSR1, hear);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	pid_t me = getpid(), child = fork();
	if (!child) {
		char path[64], line[512] = "", state = 0;

		snprintf(path, sizeof path, "/proc/%d/stat", (int)me);
		while (state != 'T' && state != 't') {
			FILE *f = fopen(path, "r");
			if (f && fgets(line, sizeof line, f) && strrchr(line, ')'))
				state = strrchr(line, ')')[2];
			if (f)
				fclose(f);
			usleep(1000);
		}
		kill(me, SIGCONT);
		_exit(0);
	}
	kill(me, SIGSTOP);
	if (wait_for(child) || heard != 100)
		return 123;
	start(NULL);
	return 122;
}

static void fill(int n, size_t size)
{
	char *text = malloc(size + 32);

	memset(text, 'x', size + 31);
	for (int i = 0; i < n && nenv < MOST; i++) {
		sprintf(text, "VARIABLE%d=", i);
		text[strlen(text)] = 'x';
		text[size] = 0;
		env[nenv++] = strdup(text);
	}
	free(text);
}

int main(int argc, char **argv)
{
	char path[4096];
	pthread_t thread;
	pid_t child;

	if (argc < 4)
		return 2;
	snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", argv[2]);
	env[nenv++] = path;
	words = argv + 3;
	if (!strcmp(argv[1], "many"))
		fill(2000, 40);
	if (!strcmp(argv[1], "huge"))
		fill(15000, 20);
	if (!strcmp(argv[1], "declined"))
		env[nenv++] = "GANGWAY_FOLLOW=0";
	if (!strcmp(argv[1], "other"))
		env[nenv++] = "LD_AUDIT=/no/such/audit.so";
	if (!strcmp(argv[1], "thread") && !pthread_create(&thread, NULL, start, NULL))
		pause();
	if (!strcmp(argv[1], "child")) {
		child = fork();
		return child ? wait_for(child) : (start(NULL), 1);
	}
	if (!strcmp(argv[1], "vfork")) {
		child = vfork();
		if (!child)
			start(NULL);
		return wait_for(child);
	}
	if (!strcmp(argv[1], "failed"))
		return after_failure();
	start(NULL);
	return 126;
}
