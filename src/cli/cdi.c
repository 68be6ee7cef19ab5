/*
 * gangway cdi: prints a specification for container engines (Container Device Interface 0.5), so that
 * --device gangway.dev/gpu=0 puts our libraries and the server's socket into a container.
 *
 * Each library is mounted into the loader's default folders. LD_LIBRARY_PATH would do, too, but would replace the
 * image's own value.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "abi/cuda.h"
#include "cli/cli.h"
#include "util/text.h"
#include "transport/default_socket.h"

static const char usage[] =
	"usage: gangway cdi [--on DEVICE] [--library-path] [--output FILE]\n\n"
	"Print a CDI specification (Container Device Interface) of a device. With it, containers get the device\n"
	"by name:\n\n"
	"    gangway serve --listen unix:/run/gangway/gangway.sock &\n"
	"    gangway cdi --on unix:/run/gangway/gangway.sock --output /etc/cdi/gangway.json\n"
	"    podman run --device gangway.dev/gpu=0 IMAGE PROGRAM       # or gpu=all, or a UUID\n\n"
	"  --on DEVICE     unix:PATH or tcp://HOST:PORT for a device that gangway serve shares; cpu for the\n"
	"                  container's own processor. Default: $GANGWAY_DEVICE; if unset, the server that runs\n"
	"                  on this machine\n"
	"  --library-path  also set LD_LIBRARY_PATH in the container, so that Gangway's libcuda.so.1 is found\n"
	"                  before one in the image. This replaces the image's own LD_LIBRARY_PATH\n"
	"  --output FILE   write to FILE, atomically, instead of standard output\n"
	"  --help          show this text\n";

#define DEVICES_MAX       64
#define CONTAINER_LIB     "/usr/lib/gangway" /* our folder in the container */
#define CONTAINER_SOCKETS "/run/gangway"

/* The default library folders of Debian and of Fedora. */
static const char *const default_lib_dirs[] = {
#if defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu",
#else
	"/usr/lib/x86_64-linux-gnu",
#endif
	"/usr/lib64",
};

struct cdi_spec {
	const char *device;
	bool library_path;
	char lib[PATH_MAX];          /* our libraries on the host */
	char address[PATH_MAX + 16]; /* GANGWAY_DEVICE in the container */
	int count;
	CUuuid uuid[DEVICES_MAX];
	FILE *out;
	bool more; /* a mount was already printed */
};

/* Query the devices through the libcuda.so.1 that containers get. Returns 0 or the exit status. */
static int query_devices(struct cdi_spec *d)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof path, "%s/libcuda.so.1", d->lib);
	unsetenv("CUDA_VISIBLE_DEVICES");
	setenv("GANGWAY_DEVICE", d->device, 1);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return cli_fail("%s", dlerror());
	CUresult (*init)(unsigned) = (CUresult (*)(unsigned))dlsym(library, "cuInit");
	CUresult (*count)(int *) = (CUresult (*)(int *))dlsym(library, "cuDeviceGetCount");
	CUresult (*uuid)(CUuuid *, CUdevice) = (CUresult (*)(CUuuid *, CUdevice))dlsym(library, "cuDeviceGetUuid_v2");
	if (!init || !count || !uuid || init(0) || count(&d->count) || d->count < 1)
		return cli_fail(
			"found no device on %s; GANGWAY_TRACE=1 gangway cdi --on %s shows why", d->device, d->device);
	if (d->count > DEVICES_MAX)
		d->count = DEVICES_MAX;
	for (int i = 0; i < d->count; i++)
		if (uuid(&d->uuid[i], i))
			return cli_fail("%s reports no UUID for device %d", d->device, i);
	return 0;
}

static void print_mount(struct cdi_spec *d, const char *host, const char *inside, const char *mode)
{
	fprintf(d->out, "%s\n      {\"hostPath\": ", d->more ? "," : "");
	json_text(d->out, host);
	fprintf(d->out, ", \"containerPath\": ");
	json_text(d->out, inside);
	fprintf(d->out, ", \"options\": [\"%s\", \"nosuid\", \"nodev\", \"rbind\", \"rprivate\"]}", mode);
	d->more = true;
}

static void print_library_mounts(struct cdi_spec *d, const char *name)
{
	char here[PATH_MAX + 64], real[PATH_MAX], inside[256];

	snprintf(here, sizeof here, "%s/%s", d->lib, name);
	if (!realpath(here, real))
		return;
	for (size_t i = 0; i < sizeof default_lib_dirs / sizeof *default_lib_dirs; i++) {
		snprintf(inside, sizeof inside, "%s/%s", default_lib_dirs[i], name);
		print_mount(d, real, inside, "ro");
	}
}

/* The plug-ins that libcuda.so.1 loads from its own folder. */
static void print_plugin_mounts(struct cdi_spec *d)
{
	struct dirent **list;
	int n = scandir(d->lib, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		size_t length = strlen(list[i]->d_name);
		if (!strncmp(list[i]->d_name, "libgangway-", 11) && length < 200 &&
			!strcmp(list[i]->d_name + length - 3, ".so"))
			print_library_mounts(d, list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/*
 * Mount the server's socket. If the socket has a folder of its own, the folder is mounted instead: a restarted server
 * creates a new socket, which a running container would not see otherwise.
 */
static void print_socket_mount(struct cdi_spec *d)
{
	char real[PATH_MAX], inside[PATH_MAX + 16];

	if (strncmp(d->device, "unix:", 5) || !realpath(d->device + 5, real))
		return;
	char *name = strrchr(real, '/');
	snprintf(inside, sizeof inside, CONTAINER_SOCKETS "%s", name);
	*name = 0;
	const char *folder = strrchr(real, '/');
	if (folder && !strncmp(folder, "/gangway", 8)) {
		print_mount(d, real, CONTAINER_SOCKETS, "ro");
	} else {
		*name = '/';
		print_mount(d, real, inside, "ro");
	}
}

static void print_environment(struct cdi_spec *d, int device)
{
	fprintf(d->out, "\"env\": [");
	json_text(d->out, d->address);
	if (device >= 0)
		fprintf(d->out, ", \"CUDA_VISIBLE_DEVICES=%d\"", device);
	fprintf(d->out, "]");
}

static void print_device(struct cdi_spec *d, const char *name, int device, const char *end)
{
	fprintf(d->out, "    {\"name\": ");
	json_text(d->out, name);
	fprintf(d->out, ", \"containerEdits\": {");
	print_environment(d, device);
	fprintf(d->out, "}}%s\n", end);
}

static void print_devices(struct cdi_spec *d)
{
	char name[64];

	for (int i = 0; i < d->count; i++) {
		const unsigned char *u = (const unsigned char *)d->uuid[i].bytes;
		int n = snprintf(name, sizeof name, "GPU-");
		for (int k = 0; k < 16; k++)
			n += snprintf(name + n, sizeof name - n,
				k == 4 || k == 6 || k == 8 || k == 10 ? "-%02x" : "%02x", u[k]);
		print_device(d, name, i, ",");
		snprintf(name, sizeof name, "%d", i);
		print_device(d, name, i, ",");
	}
	print_device(d, "all", -1, "");
}

static void print_spec(struct cdi_spec *d)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	fprintf(d->out, "{\n  \"cdiVersion\": \"0.5.0\",\n  \"kind\": \"gangway.dev/gpu\",\n  \"devices\": [\n");
	print_devices(d);
	/* void: NVIDIA's container runtime adds nothing. */
	fprintf(d->out,
		"  ],\n  \"containerEdits\": {\n    \"env\": [\"NVIDIA_VISIBLE_DEVICES=void\"%s],\n    \"mounts\": [",
		d->library_path ? ", \"LD_LIBRARY_PATH=" CONTAINER_LIB "\"" : "");
	print_mount(d, d->lib, CONTAINER_LIB, "ro");
	if (n > 0) {
		exe[n] = 0;
		print_mount(d, exe, "/usr/bin/gangway", "ro");
	}
#define LIBRARY(name, soname, link) print_library_mounts(d, soname);
#include "gen/libraries.def"
#undef LIBRARY
	print_plugin_mounts(d);
	print_socket_mount(d);
	fprintf(d->out, "\n    ]\n  }\n}\n");
}

/* Set the device's address as seen inside the container. Returns 0 or the exit status. */
static int set_container_device(struct cdi_spec *d)
{
	char real[PATH_MAX];

	if (!strncmp(d->device, "unix:", 5)) {
		if (!realpath(d->device + 5, real))
			return cli_fail("there is no socket %s; start gangway serve first", d->device + 5);
		snprintf(d->address, sizeof d->address, "GANGWAY_DEVICE=unix:" CONTAINER_SOCKETS "%s",
			strrchr(real, '/'));
		return 0;
	}
	if (strncmp(d->device, "tcp://", 6) && strcmp(d->device, "cpu") && strcmp(d->device, "null"))
		return cli_usage("cdi",
			"cannot give the device %s to containers; use unix:PATH, tcp://HOST:PORT, cpu or null",
			d->device);
	snprintf(d->address, sizeof d->address, "GANGWAY_DEVICE=%s", d->device);
	return 0;
}

static int write_file(struct cdi_spec *d, const char *path)
{
	char work[PATH_MAX];

	if (snprintf(work, sizeof work, "%s.XXXXXX", path) >= (int)sizeof work)
		return cli_fail("the file name %s is too long", path);
	int fd = mkstemp(work);
	d->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!d->out)
		return cli_fail("cannot create a temporary file for %s: %m", path);
	print_spec(d);
	bool good = !fflush(d->out) && !ferror(d->out) && !fchmod(fd, 0644);
	if (fclose(d->out) || !good || rename(work, path)) {
		unlink(work);
		return cli_fail("cannot write %s: %m", path);
	}
	return 0;
}

int cmd_cdi(int argc, char **argv)
{
	static const struct option options[] = {
		{"on", required_argument, NULL, 'o'},
		{"library-path", no_argument, NULL, 'l'},
		{"output", required_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct cdi_spec d;
	const char *file = NULL;
	char place[256];
	int c, r;

	d.device = getenv("GANGWAY_DEVICE");
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			d.device = optarg;
			break;
		case 'l':
			d.library_path = true;
			break;
		case 'f':
			file = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return cli_bad_option("cdi", c, argv, options);
		}
	}
	if (optind < argc)
		return cli_unexpected("cdi", argv[optind]);
	if ((!d.device || !*d.device) && !default_socket_find(place, sizeof place))
		return cli_fail("no gangway serve runs on this machine: start one, or choose a device with --on (cpu "
				"needs no server)");
	if (!d.device || !*d.device)
		d.device = place;
	if (cli_require_libraries(d.lib, sizeof d.lib))
		return 1;
	r = set_container_device(&d);
	r = r ? r : query_devices(&d);
	if (r)
		return r;
	if (file)
		return write_file(&d, file);
	d.out = stdout;
	print_spec(&d);
	return fflush(stdout) ? 1 : 0;
}
