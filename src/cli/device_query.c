/* Load our libcuda.so.1 in a child process and query its devices. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/cuda.h"
#include "cli/device_query.h"
#include "cuda/errors.h"

#define TIMEOUT_SECONDS 45 /* a server may take half a minute to answer, and then reports that itself */

extern char **environ;

struct driver_calls {
	CUresult (*init)(unsigned flags);
	CUresult (*version)(int *version);
	CUresult (*count)(int *count);
	CUresult (*get)(CUdevice *dev, int ordinal);
	CUresult (*name)(char *name, int size, CUdevice dev);
	CUresult (*attribute)(int *value, CUdevice_attribute attribute, CUdevice dev);
	CUresult (*memory)(size_t *bytes, CUdevice dev);
};

static bool driver_bind(void *library, struct driver_calls *d)
{
	static const char *const names[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet",
		"cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceTotalMem_v2"};
	void **slots = (void **)d;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		slots[i] = dlsym(library, names[i]);
		if (!slots[i])
			return false;
	}
	return true;
}

static CUresult query_device(const struct driver_calls *d, int i, struct device_fact *f)
{
	CUdevice dev;
	CUresult r = d->get(&dev, i);

	if (!r)
		r = d->name(f->name, sizeof f->name, dev);
	if (!r)
		r = d->attribute(&f->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
	if (!r)
		r = d->attribute(&f->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
	return r ? r : d->memory(&f->memory, dev);
}

static void query_driver(const char *path, struct device_facts *f)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct driver_calls d;

	if (!library || !driver_bind(library, &d)) {
		const char *error = dlerror();
		snprintf(f->why, sizeof f->why, "%s", error ? error : "cannot load the library");
		return;
	}
	f->result = d.init(0);
	if (!f->result)
		f->result = d.version(&f->version);
	if (!f->result)
		f->result = d.count(&f->count);
	if (f->count > DEVICE_MAX)
		f->count = DEVICE_MAX;
	for (int i = 0; i < f->count && !f->result; i++)
		f->result = query_device(&d, i, &f->device[i]);
	f->opened = !f->result;
}

/* The child: writes the facts to shared memory; the library's trace notes go to the file `notes`. */
__attribute__((noreturn)) static void query_in_child(
	const struct sysroot *sys, const char *path, const char *device, struct device_facts *f, int notes)
{
	char to[64];

	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0)
		dup2(null, 0), dup2(null, 1), dup2(null, 2);
	environ = sys->environment;
	snprintf(to, sizeof to, "/proc/self/fd/%d", notes);
	setenv("GANGWAY_TRACE", to, 1);
	if (*device)
		setenv("GANGWAY_DEVICE", device, 1);
	query_driver(path, f);
	_exit(0);
}

/* Copy the text behind `mark` in a line of the trace. */
static bool read_note(const char *line, const char *mark, char *text, size_t size)
{
	const char *p = strstr(line, mark);

	if (!p)
		return false;
	snprintf(text, size, "%s", p + strlen(mark));
	return true;
}

static void read_trace_notes(int fd, struct device_facts *f)
{
	FILE *file = lseek(fd, 0, SEEK_SET) ? NULL : fdopen(dup(fd), "r");
	char line[2048], text[1024];

	while (file && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		if (read_note(line, "# gangway: skipping ", text, sizeof text) &&
			strlen(f->passed) + strlen(text) + 2 < sizeof f->passed)
			strcat(strcat(f->passed, text), "\n");
		else if (!f->why[0])
			read_note(line, "# gangway: no device: ", f->why, sizeof f->why);
		read_note(line, "# gangway: device ", f->chosen, sizeof f->chosen);
	}
	if (file)
		fclose(file);
}

/* Wait for the child with a timeout; its end of the pipe closes when it ends. Returns its wait status. */
static int wait_for_child(pid_t child, int pipe, bool *late)
{
	struct pollfd p = {.fd = pipe, .events = POLLIN};
	int status = 0, r;

	while ((r = poll(&p, 1, TIMEOUT_SECONDS * 1000)) < 0 && errno == EINTR)
		;
	*late = !r;
	if (!r)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return status;
}

static void explain_failure(struct device_facts *f, int status, bool late)
{
	const char *name = result_name(f->result);

	if (late)
		snprintf(f->why, sizeof f->why, "the driver did not answer cuInit and device queries within %d seconds",
			TIMEOUT_SECONDS);
	else if (WIFSIGNALED(status))
		snprintf(f->why, sizeof f->why,
			"the driver crashed with signal %d (%s) when it was asked for its devices", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (!f->opened && !f->why[0])
		snprintf(f->why, sizeof f->why, "the driver returns %s", name ? name : "an unknown error");
	else
		return;
	f->opened = false;
}

void device_query(const struct sysroot *sys, const char *library, const char *device, struct device_facts *facts)
{
	struct device_facts *f = mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int notes = memfd_create("gangway-doctor", 0), alive[2] = {-1, -1};
	bool late = false;

	*facts = (struct device_facts){0};
	pid_t child = f == MAP_FAILED || notes < 0 || pipe2(alive, O_CLOEXEC) ? -1 : fork();
	if (!child)
		query_in_child(sys, library, device, f, notes);
	if (alive[1] >= 0)
		close(alive[1]);
	if (child < 0) {
		snprintf(facts->why, sizeof facts->why, "cannot start a process to query the driver: %s",
			strerror(errno));
	} else {
		int status = wait_for_child(child, alive[0], &late);
		read_trace_notes(notes, f);
		explain_failure(f, status, late);
		*facts = *f;
	}
	if (f != MAP_FAILED)
		munmap(f, sizeof *f);
	if (alive[0] >= 0)
		close(alive[0]);
	if (notes >= 0)
		close(notes);
}
