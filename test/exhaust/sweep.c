/*
 * sweep KIND PAGE SIDE PROGRAM [SPARED]: runs PROGRAM again and again; in run n the n-th call of KIND (thread, mmap, malloc,
 * fd) fails, on SIDE: "client" in PROGRAM itself, which then gets LD_PRELOAD=$FAIL_LIBRARY, or "server" in a server that
 * was started with it.  Each n runs twice: only that call fails, or all later calls, too.  The process SPARED never fails.
 *
 * A run must end by itself with status 0.  The sweep ends at the first n that PROGRAM does not reach, or at LIMIT runs;
 * STEP is added to n after each run.  At the end the program must succeed without failures.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fail_page.h"
#include "test/check.h"

static const char *const kinds[] = {"none", "thread", "mmap", "malloc", "fd"};

static uint32_t kind_parse(const char *name)
{
	for (uint32_t i = FAIL_THREAD; i <= FAIL_FD; i++)
		if (!strcmp(name, kinds[i]))
			return i;
	fprintf(stderr, "unknown kind: %s\n", name);
	exit(1);
}

/* The program's status as waitpid() gives it; its output is in `text`. */
static int program_run(const char *program, bool preload, char *text, size_t size)
{
	int fds[2], status;
	size_t used = 0;
	ssize_t n;

	if (pipe(fds))
		exit(1);
	pid_t pid = fork();
	if (!pid) {
		if (preload)
			setenv("LD_PRELOAD", getenv("FAIL_LIBRARY"), 1);
		dup2(fds[1], 1);
		dup2(fds[1], 2);
		close(fds[0]);
		close(fds[1]);
		execl(program, program, NULL);
		_exit(127);
	}
	close(fds[1]);
	while ((n = read(fds[0], text + used, size - 1 - used)) > 0 || (n < 0 && errno == EINTR))
		used += n > 0 ? (size_t)n : 0;
	text[used] = 0;
	close(fds[0]);
	waitpid(pid, &status, 0);
	return status;
}

static long environment_number(const char *name, long usual)
{
	const char *text = getenv(name);

	return text ? atol(text) : usual;
}

int main(int argc, char **argv)
{
	static char text[65536];
	const char *program = argc > 4 ? argv[4] : NULL;
	int fd = program ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1, status;
	long limit = environment_number("LIMIT", 200), step = environment_number("STEP", 1), runs = 0, n = 1;
	struct fail_page *page;
	bool client, keep = false;

	if (fd < 0 || ftruncate(fd, 4096))
		return 1;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	client = !strcmp(argv[3], "client");
	setenv("FAIL_PAGE", argv[2], 1);
	page->spared = argc > 5 ? atoi(argv[5]) : 0;
	for (uint32_t kind = kind_parse(argv[1]); runs < limit; runs++) {
		page->hits = 0;
		page->keep = keep;
		page->at = (int32_t)n;
		page->kind = kind;
		status = program_run(program, client, text, sizeof text);
		page->kind = FAIL_NONE;
		if (status)
			fprintf(stderr, "%s %ld%s in the %s: %s %d\n%s", argv[1], n, keep ? " and later" : "", argv[3],
				WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hang:" : "status", status, text);
		CHECK_EQ(status, 0);
		if (failures > 20 || (keep && !page->hits))
			break;
		n += keep ? step : 0;
		keep = !keep;
	}
	printf("%ld runs, up to call %ld\n", runs, n);
	CHECK(runs > 2);
	/* Workers that were started without memory refuse their clients; the ones behind them do not. */
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(program_run(program, client, text, sizeof text), 0);
		if (strstr(text, "complete"))
			break;
	}
	CHECK(strstr(text, "complete"));
	return RESULT();
}
