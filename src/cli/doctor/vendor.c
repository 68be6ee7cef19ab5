/* vendor.c - the GPU of this machine: is there one, and have kernel module, device nodes and library been put
 * together? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/doctor/doctor.h"

struct gpu {
	unsigned count;
	char id[16];     /* "10de:2330", of the first */
	char driver[64]; /* that has it: "nvidia", "nouveau", "vfio-pci"; "" */
	char module[64]; /* the kernel module's version; "": not loaded */
	struct library library;
	char path[PATH_MAX]; /* of the library; "": none */
};

static bool read_word(const struct sysroot *sys, const char *path, char *text, size_t size)
{
	if (sysroot_read(sys, path, text, size) <= 0)
		return false;
	text[strcspn(text, " \n")] = 0;
	return *text;
}

/* Display controllers of vendor 10de on the PCI bus. */
static void find_gpus(const struct sysroot *sys, struct gpu *g)
{
	char path[PATH_MAX], text[64], real[PATH_MAX];
	DIR *list = sysroot_list(sys, "/sys/bus/pci/devices");
	struct dirent *e;

	while (list && (e = readdir(list))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", e->d_name);
		if (!read_word(sys, path, text, sizeof text) || strcmp(text, "0x10de"))
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", e->d_name);
		if (!read_word(sys, path, text, sizeof text) || strncmp(text, "0x03", 4) || g->count++)
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/device", e->d_name);
		if (read_word(sys, path, text, sizeof text))
			snprintf(g->id, sizeof g->id, "10de:%.8s", text + (strncmp(text, "0x", 2) ? 0 : 2));
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", e->d_name);
		if (!sysroot_real(sys, path, real) && sysroot_is_dir(sys, path))
			snprintf(g->driver, sizeof g->driver, "%s", strrchr(real, '/') + 1);
	}
	if (list)
		closedir(list);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul ..." */
static void find_module(const struct sysroot *sys, struct gpu *g)
{
	char text[512], *p = text;

	if (read_word(sys, "/sys/module/nvidia/version", g->module, sizeof g->module))
		return;
	if (sysroot_read(sys, "/proc/driver/nvidia/version", text, sizeof text) <= 0)
		return;
	text[strcspn(text, "\n")] = 0;
	for (char *save = NULL; (p = strtok_r(p, " ", &save)); p = NULL)
		if (*p >= '0' && *p <= '9' && strchr(p, '.')) {
			snprintf(g->module, sizeof g->module, "%.63s", p);
			return;
		}
}

static bool take_vendor(void *arg, const struct found_library *found)
{
	struct {
		const struct sysroot *sysroot;
		struct gpu *gpu;
	} *a = arg;

	if (found->error || library_inspect(a->sysroot, found->path, &a->gpu->library) ||
		a->gpu->library.maker != MAKER_VENDOR)
		return false;
	snprintf(a->gpu->path, sizeof a->gpu->path, "%s", found->path);
	return true;
}

static void find_library(struct doctor *d, struct gpu *g)
{
	struct library_search s = library_search_from(&d->sysroot);
	struct {
		const struct sysroot *sysroot;
		struct gpu *gpu;
	} arg = {&d->sysroot, g};

	library_search_each(&s, "libcuda.so.1", NULL, take_vendor, &arg);
}

/* Who means to use another device is only told. */
static enum status serious(const struct doctor *d)
{
	const char *device = sysroot_env(&d->sysroot, "GANGWAY_DEVICE");

	return !device || !*device || !strcmp(device, "nvidia") ? WRONG : FACT;
}

static bool locked_down(const struct sysroot *sys)
{
	char text[128];

	return sysroot_read(sys, "/sys/kernel/security/lockdown", text, sizeof text) > 0 && !strstr(text, "[none]");
}

static void say_no_module(struct doctor *d, const struct gpu *g)
{
	struct finding *f;

	if (!strcmp(g->driver, "nouveau")) {
		f = say(d, serious(d), "the GPU (%s) is in the hands of nouveau, which knows no CUDA", g->id);
		fix(f, "echo 'blacklist nouveau' | sudo tee /etc/modprobe.d/no-nouveau.conf && sudo "
		       "update-initramfs -u && sudo reboot");
	} else if (!strcmp(g->driver, "vfio-pci")) {
		say(d, FACT, "the GPU (%s) is set aside for a virtual machine (vfio-pci)", g->id);
	} else if (locked_down(&d->sysroot)) {
		f = say(d, serious(d),
			"the GPU (%s) has no driver: the kernel is locked down (Secure Boot) and takes only "
			"modules that are signed",
			g->id);
		fix(f, "sudo mokutil --import /var/lib/dkms/mok.pub  # then reboot and confirm the key");
	} else {
		f = say(d, serious(d), "the GPU (%s) has no driver: the kernel module nvidia is not loaded", g->id);
		fix(f, "sudo modprobe nvidia");
	}
}

static void say_no_library(struct doctor *d, const struct gpu *g)
{
	struct finding *f = say(d, serious(d),
		"the kernel module %s is loaded, but no vendor's libcuda.so.1 is on the loader's path", g->module);

	if (container_kind(&d->sysroot))
		fix(f, "docker run --gpus all ...  # NVIDIA's container toolkit mounts it; or podman run "
		       "--device nvidia.com/gpu=all");
	else
		fix(f, "sudo apt install libcuda1  # of version %s", g->module);
}

/* ---- device nodes ---- */

static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"};

static bool look_at_node(struct doctor *d, const char *node)
{
	char outside[PATH_MAX];
	struct stat st;
	struct finding *f;

	if (sysroot_outside(&d->sysroot, node, outside) || stat(outside, &st)) {
		f = say(d, serious(d), "%s is not there, though the kernel module is loaded", node);
		fix(f, "sudo nvidia-modprobe -c 0 -u");
		return false;
	}
	if (access(outside, R_OK | W_OK)) {
		f = say(d, serious(d), "this user may not use %s (mode %o, user %u, group %u)", node, st.st_mode & 0777,
			(unsigned)st.st_uid, (unsigned)st.st_gid);
		fix(f,
			st.st_gid && (st.st_mode & 060) == 060 ? "sudo usermod -aG %u $USER  # then log in again"
							       : "sudo chmod 666 /dev/nvidia*",
			(unsigned)st.st_gid);
		return false;
	}
	return true;
}

void probe_vendor(struct doctor *d)
{
	struct gpu g = {0};

	find_gpus(&d->sysroot, &g);
	find_module(&d->sysroot, &g);
	find_library(d, &g);
	if (!g.count && !g.module[0] && !g.path[0]) {
		say(d, FACT, "no NVIDIA GPU and no driver of NVIDIA's on this machine");
		return;
	}
	if (g.count && !g.module[0])
		return say_no_module(d, &g);
	if (!g.module[0]) {
		say(d, FACT, "a driver's library without a GPU: %s (%s)", g.path, g.library.version);
		return;
	}
	if (!g.path[0])
		return say_no_library(d, &g);
	if (g.library.version[0] && strcmp(g.library.version, g.module)) {
		struct finding *f = say(d, serious(d),
			"the kernel module is %s and the library %s is %s: the driver was "
			"upgraded, the module is still the old one",
			g.module, g.path, g.library.version);
		more(f, "CUDA answers CUDA_ERROR_SYSTEM_DRIVER_MISMATCH.");
		fix(f, "sudo reboot");
		return;
	}
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		if (!look_at_node(d, nodes[i]))
			return;
	say(d, FINE, "%u NVIDIA GPU%s (%s), kernel module and library %s", g.count, g.count == 1 ? "" : "s", g.id,
		g.module);
}
