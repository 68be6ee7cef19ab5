/*
 * When kernels are compiled, with a compiler that always gives the same code (toy_plugin.c): tiers FOLDER
 *
 * The program starts itself anew for each mode, because a process reads its variables once.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "ptx/interp/core.h"
#include "ptx/jit/target.h"

static char home[128], log_path[160], gate[160];

#define KERNEL(name) ".visible .entry " name "(.param .u64 p)\n{\n\tret;\n}\n"

static const char text[] =
	".version 8.0\n.target sm_80\n.address_size 64\n" KERNEL("one") KERNEL("two") KERNEL("refused");

struct loaded {
	struct ptx_module *m;
	struct interp_program *p;
};

static struct loaded load(const char *ptx)
{
	struct loaded l = {.m = ptx_module_create(ptx, strlen(ptx))};

	CHECK(l.m && !l.m->error.line);
	l.p = interp_create(l.m);
	return l;
}

static void unload(void *arg)
{
	struct loaded *l = arg;

	interp_destroy(l->p);
	ptx_module_destroy(l->m);
	l->p = NULL;
}

static struct jit_kernel *kernel(struct loaded *l, const char *name)
{
	struct interp_kernel *k = NULL;
	char why[256];

	CHECK_EQ(interp_kernel(l->p, ptx_function_find(l->m, name), &k, why, sizeof why), 0);
	return k ? k->jit : NULL;
}

/* Decides as a launch of this many blocks of 64 threads does. */
static bool launch(struct jit_kernel *j, unsigned blocks, unsigned cores)
{
	struct interp_host host = {.threads = cores};
	struct interp_launch l = {.host = &host, .grid = {blocks, 1, 1}, .block = {64, 1, 1}};
	struct jit_launch x;

	jit_launch_begin(&x, j, &l);
	bool compiled = jit_launch_code(&x);
	jit_launch_end(&x);
	return compiled;
}

static unsigned compilations(void)
{
	FILE *f = fopen(log_path, "r");
	unsigned n = 0;
	int c;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static int mode_jit(void)
{
	struct loaded l = load(text), again;

	CHECK_EQ(jit_mode(), JIT_MODE_JIT);
	CHECK(launch(kernel(&l, "one"), 1, 1));
	CHECK(launch(kernel(&l, "one"), 1, 1));
	CHECK(!launch(kernel(&l, "refused"), 1, 1));
	CHECK(!launch(kernel(&l, "refused"), 1, 1));
	CHECK_EQ(compilations(), 2);
	again = load(text); /* from the cache; a refusal is not cached */
	CHECK(launch(kernel(&again, "one"), 1, 1));
	CHECK_EQ(compilations(), 2);
	CHECK_EQ(atomic_load(&kernel(&again, "one")->code[JIT_FULL_AFFINE])->nsites, 3);
	CHECK(!launch(kernel(&again, "refused"), 1, 1));
	CHECK_EQ(compilations(), 3);
	unload(&l);
	unload(&again);
	return RESULT();
}

/* Runs after mode_jit, in a process of its own. */
static int mode_cached(void)
{
	struct loaded l = load(text);

	CHECK(launch(kernel(&l, "one"), 1 << 20, 2)); /* at once, since it is in the cache */
	CHECK_EQ(compilations(), 3);
	unload(&l);
	return RESULT();
}

static int mode_interp(void)
{
	struct loaded l = load(text);

	CHECK_EQ(jit_mode(), JIT_MODE_INTERP);
	CHECK(!kernel(&l, "one"));
	CHECK(!launch(kernel(&l, "one"), 1 << 20, 2));
	CHECK_EQ(compilations(), 0);
	unload(&l);
	return RESULT();
}

static void *waiter(void *j)
{
	jit_wait(j, JIT_FULL_AFFINE);
	return NULL;
}

static void gate_open(void)
{
	close(open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static atomic_bool ended;

static void unload_late(void *l)
{
	unload(l);
	atomic_store(&ended, true);
}

static int mode_auto(void)
{
	struct loaded l = load(text), busy = load(text);
	struct jit_kernel *j = kernel(&l, "one");
	pthread_t t;

	CHECK_EQ(jit_mode(), JIT_MODE_AUTO);
	CHECK(!launch(j, 1, 2)); /* too little work */
	CHECK_EQ(atomic_load(&j->state[JIT_FULL_AFFINE]), JIT_NEW);
	CHECK(!launch(j, 1 << 20, 2)); /* queued; the gate is closed */
	CHECK_EQ(atomic_load(&j->state[JIT_FULL_AFFINE]), JIT_QUEUED);
	CHECK(!launch(j, 1 << 20, 2));
	CHECK(!launch(kernel(&busy, "one"), 1 << 20, 2)); /* queued behind it */
	CHECK(!launch(kernel(&busy, "two"), 1 << 20, 2));
	unload(&busy); /* cancels both */
	CHECK_EQ(pthread_create(&t, NULL, waiter, j), 0);
	gate_open();
	pthread_join(t, NULL);
	CHECK(launch(j, 1, 2));
	CHECK_EQ(compilations(), 1);
	/* With one processor a launch waits once the kernel has run for long. */
	j = kernel(&l, "two");
	atomic_store(&j->interpreted_ns, 3600ull * 1000000000);
	CHECK(launch(j, 1 << 20, 1));
	/* A program can be released while one of its kernels is compiled. */
	CHECK_EQ(unlink(gate), 0);
	busy = load(".version 8.0\n.target sm_80\n.address_size 64\n" KERNEL("three"));
	CHECK(!launch(kernel(&busy, "three"), 1 << 20, 2));
	while (compilations() < 3)
		usleep(1000);
	CHECK(interp_defer(busy.p, unload_late, &busy));
	CHECK(!atomic_load(&ended));
	gate_open();
	while (!atomic_load(&ended))
		usleep(1000);
	unload(&l);
	return RESULT();
}

static unsigned count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned n = 0;
	int c;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/* Loading, compiling and unloading leaves nothing behind. */
static int mode_unload(void)
{
	unsigned before = 0;

	for (int i = 0; i < 300; i++) {
		struct loaded l = load(text);

		CHECK(launch(kernel(&l, "one"), 1, 2));
		CHECK(launch(kernel(&l, "two"), 1, 2));
		unload(&l);
		if (i == 20)
			before = count_mappings();
	}
	CHECK(count_mappings() < before + 100);
	CHECK_EQ(compilations(), 2);
	return RESULT();
}

/* The same decision as launch(): false if the launch must fail. */
static bool allowed(struct jit_kernel *j, char *why, size_t size)
{
	struct interp_host host = {.threads = 1};
	struct interp_launch l = {.host = &host, .grid = {1, 1, 1}, .block = {64, 1, 1}};
	struct jit_launch x;
	bool ok;

	jit_launch_begin(&x, j, &l);
	ok = jit_launch_allowed(&x, why, size);
	jit_launch_end(&x);
	return ok;
}

/* A launch fails if the compiler does, but not if the compiler refuses the kernel. */
static int mode_strict(void)
{
	struct loaded l = load(text);
	char why[256] = "";

	CHECK_EQ(jit_mode(), JIT_MODE_JIT);
	CHECK(launch(kernel(&l, "one"), 1, 1));
	CHECK(allowed(kernel(&l, "one"), why, sizeof why));
	CHECK(allowed(kernel(&l, "refused"), why, sizeof why));
	CHECK_EQ(unsetenv("TOY_OBJECT"), 0); /* the toy fails without it */
	CHECK(!allowed(kernel(&l, "two"), why, sizeof why));
	CHECK(!strncmp(why, "not compiled: ", 14));
	CHECK(!allowed(kernel(&l, "two"), why, sizeof why));
	unload(&l);
	return RESULT();
}

/* Runs from a folder without a compiler. */
static int mode_absent(void)
{
	struct loaded l = load(text);
	char why[256] = "";

	CHECK_EQ(jit_mode(), JIT_MODE_INTERP);
	CHECK(!allowed(kernel(&l, "one"), why, sizeof why));
	CHECK(strstr(why, "there is no libgangway-jit.so"));
	unload(&l);
	return RESULT();
}

static int mode_isa(void)
{
	struct jit_target t;

	jit_target_describe(jit_target_isa(), &t);
	CHECK_EQ(jit_target_isa(), JIT_ISA_V2);
	CHECK(!strcmp(t.cpu, "x86-64-v2") && t.vector_bytes == 16);
	return RESULT();
}

static const struct {
	const char *name;
	int (*run)(void);
	const char *tier;
	bool keep_cache, keep_gate, apart; /* apart: the program is copied to another folder */
} modes[] = {
	{"interp", mode_interp, "interp", .keep_gate = true},
	{"jit", mode_jit, "jit", .keep_gate = true},
	{"cached", mode_cached, "auto", .keep_cache = true, .keep_gate = true},
	{"auto", mode_auto, NULL},
	{"unload", mode_unload, "jit", .keep_gate = true},
	{"strict", mode_strict, "strict", .keep_gate = true},
	{"absent", mode_absent, "strict", .apart = true},
	{"isa", mode_isa, NULL},
};

static void run_mode(const char *self, const char *folder, size_t i)
{
	char command[200], object[512];
	int status;

	if (!modes[i].keep_cache) {
		snprintf(command, sizeof command, "rm -rf %s/*", home);
		CHECK_EQ(system(command), 0);
	}
	if (modes[i].apart) {
		snprintf(command, sizeof command, "cp /proc/%d/exe %s/program", (int)getpid(), home);
		CHECK_EQ(system(command), 0);
		snprintf(command, sizeof command, "%s/program", home);
		self = command;
	}
	if (modes[i].keep_gate)
		gate_open();
	pid_t pid = fork();
	if (!pid) {
		snprintf(object, sizeof object, "%s/toy_kernel.o", folder);
		setenv("TOY_OBJECT", object, 1);
		setenv("TOY_LOG", log_path, 1);
		setenv("TOY_GATE", gate, 1);
		setenv("XDG_CACHE_HOME", home, 1);
		setenv("GANGWAY_CPU_ISA", "v2", 1);
		unsetenv("CUDA_CACHE_PATH");
		unsetenv("CUDA_CACHE_DISABLE");
		unsetenv("GANGWAY_CPU_TIER");
		if (modes[i].tier)
			setenv("GANGWAY_CPU_TIER", modes[i].tier, 1);
		execl(self, self, folder, modes[i].name, home, (char *)NULL);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	if (status) {
		printf("mode %s: status %d\n", modes[i].name, status);
		CHECK(0);
	}
}

static void use_home(const char *path)
{
	snprintf(home, sizeof home, "%s", path);
	snprintf(log_path, sizeof log_path, "%s/log", home);
	snprintf(gate, sizeof gate, "%s/gate", home);
}

int main(int argc, char **argv)
{
	char made[] = "/tmp/gangway-tiers-XXXXXX", command[200];

	if (argc < 2)
		return 1;
	for (size_t i = 0; argc == 4 && i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(argv[2], modes[i].name))
			return use_home(argv[3]), modes[i].run();
	if (!mkdtemp(made))
		return perror(made), 1;
	use_home(made);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		run_mode("/proc/self/exe", argv[1], i);
	snprintf(command, sizeof command, "rm -rf %s", home);
	return system(command) ? 1 : RESULT();
}
