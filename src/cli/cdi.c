/*
 * gangway cdi: a description for container engines (Container Device Interface 0.5) of the device that this
 * machine offers, so that --device gangway.dev/gpu=0 puts our libraries and the server's socket into a container.
 *
 * The libraries are mounted one by one where loaders look by default, and not shown by LD_LIBRARY_PATH: that
 * would replace what the image has set.
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
#include "util/json.h"
#include "transport/default_socket.h"

static const char usage[] =
	"usage: gangway cdi [--on DEVICE] [--library-path] [--output FILE]\n\n"
	"Prints a CDI description of this machine's device, with which a container gets it by name:\n\n"
	"    gangway serve --listen unix:/run/gangway/gangway.sock &\n"
	"    gangway cdi --on unix:/run/gangway/gangway.sock --output /etc/cdi/gangway.json\n"
	"    podman run --device gangway.dev/gpu=0 IMAGE PROGRAM       # or gpu=all, or a UUID\n\n"
	"  --on DEVICE     unix:PATH, tcp://HOST:PORT: what a gangway serve offers there; cpu: the container's own\n"
	"                  processor. Without it: $GANGWAY_DEVICE, else the server that runs here\n"
	"  --library-path  set LD_LIBRARY_PATH as well, which wins over a libcuda.so.1 that an image brings; it\n"
	"                  replaces the image's own\n"
	"  --output FILE   write there, all at once, and not to the terminal\n"
	"  --help          this text\n";

#define DEVICES_MAX 64
#define INSIDE      "/usr/lib/gangway" /* our folder in a container */
#define SOCKET_DIR  "/run/gangway"

/* Where the loaders of distributions look without being told. */
static const char *const loader_dirs[] = {
#if defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu",
#else
	"/usr/lib/x86_64-linux-gnu",
#endif
	"/usr/lib64",
};

struct description {
	const char *device;
	bool library_path;
	char lib[PATH_MAX];          /* our libraries here */
	char address[PATH_MAX + 16]; /* GANGWAY_DEVICE in the container */
	int count;
	CUuuid uuid[DEVICES_MAX];
	FILE *out;
	bool more; /* a mount stands before */
};

/* Asks as any program would, through the library that containers get. */
static int ask(struct description *d)
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
		return cli_fail("%s has no device to offer: does GANGWAY_TRACE=1 gangway cdi --on %s say more?",
			d->device, d->device);
	if (d->count > DEVICES_MAX)
		d->count = DEVICES_MAX;
	for (int i = 0; i < d->count; i++)
		if (uuid(&d->uuid[i], i))
			return cli_fail("%s does not tell the UUID of device %d", d->device, i);
	return 0;
}

static void mount(struct description *d, const char *host, const char *inside, const char *mode)
{
	fprintf(d->out, "%s\n      {\"hostPath\": ", d->more ? "," : "");
	json_text(d->out, host);
	fprintf(d->out, ", \"containerPath\": ");
	json_text(d->out, inside);
	fprintf(d->out, ", \"options\": [\"%s\", \"nosuid\", \"nodev\", \"rbind\", \"rprivate\"]}", mode);
	d->more = true;
}

static void mount_library(struct description *d, const char *name)
{
	char here[PATH_MAX + 64], real[PATH_MAX], inside[256];

	snprintf(here, sizeof here, "%s/%s", d->lib, name);
	if (!realpath(here, real))
		return;
	for (size_t i = 0; i < sizeof loader_dirs / sizeof *loader_dirs; i++) {
		snprintf(inside, sizeof inside, "%s/%s", loader_dirs[i], name);
		mount(d, real, inside, "ro");
	}
}

/* What libcuda.so.1 loads from beside itself. */
static void mount_plugins(struct description *d)
{
	struct dirent **list;
	int n = scandir(d->lib, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		size_t length = strlen(list[i]->d_name);
		if (!strncmp(list[i]->d_name, "libgangway-", 11) && length < 200 &&
			!strcmp(list[i]->d_name + length - 3, ".so"))
			mount_library(d, list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/*
 * The server's socket. If it lies in a folder of its own, that is mounted: a server that is started anew makes
 * a new socket, which a container would not see otherwise.
 */
static void mount_socket(struct description *d)
{
	char real[PATH_MAX], inside[PATH_MAX + 16];

	if (strncmp(d->device, "unix:", 5) || !realpath(d->device + 5, real))
		return;
	char *name = strrchr(real, '/');
	snprintf(inside, sizeof inside, SOCKET_DIR "%s", name);
	*name = 0;
	const char *folder = strrchr(real, '/');
	if (folder && !strncmp(folder, "/gangway", 8)) {
		mount(d, real, SOCKET_DIR, "rw");
	} else {
		*name = '/';
		mount(d, real, inside, "rw");
	}
}

static void environment(struct description *d, int device)
{
	fprintf(d->out, "\"env\": [");
	json_text(d->out, d->address);
	if (device >= 0)
		fprintf(d->out, ", \"CUDA_VISIBLE_DEVICES=%d\"", device);
	fprintf(d->out, "]");
}

static void entry(struct description *d, const char *name, int device, const char *end)
{
	fprintf(d->out, "    {\"name\": ");
	json_text(d->out, name);
	fprintf(d->out, ", \"containerEdits\": {");
	environment(d, device);
	fprintf(d->out, "}}%s\n", end);
}

static void devices(struct description *d)
{
	char name[64];

	for (int i = 0; i < d->count; i++) {
		const unsigned char *u = (const unsigned char *)d->uuid[i].bytes;
		int n = snprintf(name, sizeof name, "GPU-");
		for (int k = 0; k < 16; k++)
			n += snprintf(name + n, sizeof name - n,
				k == 4 || k == 6 || k == 8 || k == 10 ? "-%02x" : "%02x", u[k]);
		entry(d, name, i, ",");
		snprintf(name, sizeof name, "%d", i);
		entry(d, name, i, ",");
	}
	entry(d, "all", -1, "");
}

static void print(struct description *d)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	fprintf(d->out, "{\n  \"cdiVersion\": \"0.5.0\",\n  \"kind\": \"gangway.dev/gpu\",\n  \"devices\": [\n");
	devices(d);
	/* void: a vendor's container runtime has nothing to add. */
	fprintf(d->out,
		"  ],\n  \"containerEdits\": {\n    \"env\": [\"NVIDIA_VISIBLE_DEVICES=void\"%s],\n    \"mounts\": [",
		d->library_path ? ", \"LD_LIBRARY_PATH=" INSIDE "\"" : "");
	mount(d, d->lib, INSIDE, "ro");
	if (n > 0) {
		exe[n] = 0;
		mount(d, exe, "/usr/bin/gangway", "ro");
	}
#define LIBRARY(name, soname, link) mount_library(d, soname);
#include "gen/libraries.def"
#undef LIBRARY
	mount_plugins(d);
	mount_socket(d);
	fprintf(d->out, "\n    ]\n  }\n}\n");
}

/* What the device is called where the container looks: 0, or the exit status. */
static int name_inside(struct description *d)
{
	char real[PATH_MAX];

	if (!strncmp(d->device, "unix:", 5)) {
		if (!realpath(d->device + 5, real))
			return cli_fail("%s: there is no such socket. Is gangway serve running?", d->device + 5);
		snprintf(d->address, sizeof d->address, "GANGWAY_DEVICE=unix:" SOCKET_DIR "%s", strrchr(real, '/'));
		return 0;
	}
	if (strncmp(d->device, "tcp://", 6) && strcmp(d->device, "cpu") && strcmp(d->device, "null"))
		return cli_usage("cdi", "%s is no device for containers", d->device);
	snprintf(d->address, sizeof d->address, "GANGWAY_DEVICE=%s", d->device);
	return 0;
}

static int write_to(struct description *d, const char *path)
{
	char work[PATH_MAX];

	if (snprintf(work, sizeof work, "%s.XXXXXX", path) >= (int)sizeof work)
		return cli_fail("%s is too long", path);
	int fd = mkstemp(work);
	d->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!d->out)
		return cli_fail("cannot write beside %s: %m", path);
	print(d);
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
	static struct description d;
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
		case ':':
			return cli_usage("cdi", "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage("cdi", "there is no option %s", argv[optind - 1]);
		}
	}
	if (optind < argc)
		return cli_usage("cdi", "what is %s for?", argv[optind]);
	if ((!d.device || !*d.device) && !default_socket_find(place, sizeof place))
		return cli_fail(
			"no gangway serve runs here: start one, or say which device with --on (cpu needs none)");
	if (!d.device || !*d.device)
		d.device = place;
	if (!cli_library_dir(d.lib, sizeof d.lib))
		return cli_fail("no ../lib/gangway beside this program: is the installation complete?");
	r = name_inside(&d);
	r = r ? r : ask(&d);
	if (r)
		return r;
	if (file)
		return write_to(&d, file);
	d.out = stdout;
	print(&d);
	return fflush(stdout) ? 1 : 0;
}
