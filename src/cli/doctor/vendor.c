/* Check this machine's GPU: PCI device, kernel module, device nodes and vendor library. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/doctor/doctor.h"

struct gpu_facts {
	unsigned count;
	char id[16];     /* "10de:2330", of the first GPU */
	char driver[64]; /* bound to it: "nvidia", "nouveau", "vfio-pci"; or "" */
	char module[64]; /* version of the kernel module; "" if not loaded */
	struct library library;
	char path[PATH_MAX]; /* of the library; "" if not found */
};

static bool read_first_word(const struct sysroot *sys, const char *path, char *text, size_t size)
{
	if (sysroot_read(sys, path, text, size) <= 0)
		return false;
	text[strcspn(text, " \n")] = 0;
	return *text;
}

/* Count the display controllers of NVIDIA (10de) on the PCI bus. */
static void find_gpus(const struct sysroot *sys, struct gpu_facts *g)
{
	char path[PATH_MAX], text[64], real[PATH_MAX];
	DIR *list = sysroot_list(sys, "/sys/bus/pci/devices");
	struct dirent *e;

	while (list && (e = readdir(list))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", e->d_name);
		if (!read_first_word(sys, path, text, sizeof text) || strcmp(text, "0x10de"))
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", e->d_name);
		if (!read_first_word(sys, path, text, sizeof text) || strncmp(text, "0x03", 4) || g->count++)
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/device", e->d_name);
		if (read_first_word(sys, path, text, sizeof text))
			snprintf(g->id, sizeof g->id, "10de:%.8s", text + (strncmp(text, "0x", 2) ? 0 : 2));
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", e->d_name);
		if (!sysroot_real(sys, path, real) && sysroot_is_dir(sys, path))
			snprintf(g->driver, sizeof g->driver, "%s", strrchr(real, '/') + 1);
	}
	if (list)
		closedir(list);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul ..." */
static void find_kernel_module(const struct sysroot *sys, struct gpu_facts *g)
{
	char text[512], *p = text;

	if (read_first_word(sys, "/sys/module/nvidia/version", g->module, sizeof g->module))
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

static bool visit_vendor_library(void *arg, const struct found_library *found)
{
	struct {
		const struct sysroot *sysroot;
		struct gpu_facts *gpu;
	} *a = arg;

	if (found->error || library_inspect(a->sysroot, found->path, &a->gpu->library) ||
		a->gpu->library.maker != MAKER_VENDOR)
		return false;
	snprintf(a->gpu->path, sizeof a->gpu->path, "%s", found->path);
	return true;
}

static void find_vendor_library(struct doctor *d, struct gpu_facts *g)
{
	struct library_search s = library_search_from(&d->sysroot);
	struct {
		const struct sysroot *sysroot;
		struct gpu_facts *gpu;
	} arg = {&d->sysroot, g};

	library_search_each(&s, "libcuda.so.1", NULL, visit_vendor_library, &arg);
}

/* GPU problems are mere facts if another device was chosen. */
static enum finding_status vendor_status(const struct doctor *d)
{
	const char *device = sysroot_env(&d->sysroot, "GANGWAY_DEVICE");

	return !device || !*device || !strcmp(device, "nvidia") ? STATUS_WRONG : STATUS_FACT;
}

static bool kernel_is_locked_down(const struct sysroot *sys)
{
	char text[128];

	return sysroot_read(sys, "/sys/kernel/security/lockdown", text, sizeof text) > 0 && !strstr(text, "[none]");
}

static void report_no_module(struct doctor *d, const struct gpu_facts *g)
{
	struct finding *f;

	if (!strcmp(g->driver, "nouveau")) {
		f = finding_add(d, vendor_status(d),
			"the GPU (%s) is used by the driver nouveau, which does not support CUDA", g->id);
		finding_fix(f, "echo 'blacklist nouveau' | sudo tee /etc/modprobe.d/no-nouveau.conf && sudo "
			       "update-initramfs -u && sudo reboot");
	} else if (!strcmp(g->driver, "vfio-pci")) {
		finding_add(d, STATUS_FACT, "the GPU (%s) is reserved for a virtual machine (vfio-pci)", g->id);
	} else if (kernel_is_locked_down(&d->sysroot)) {
		f = finding_add(d, vendor_status(d),
			"the GPU (%s) has no driver: the kernel is locked down (Secure Boot) and loads only signed "
			"modules",
			g->id);
		finding_fix(f, "sudo mokutil --import /var/lib/dkms/mok.pub  # then reboot and confirm the key");
	} else {
		f = finding_add(d, vendor_status(d),
			"the GPU (%s) has no driver: the kernel module nvidia is not loaded", g->id);
		finding_fix(f, "sudo modprobe nvidia");
	}
}

static void report_no_library(struct doctor *d, const struct gpu_facts *g)
{
	struct finding *f = finding_add(d, vendor_status(d),
		"the kernel module %s is loaded, but the loader finds no libcuda.so.1 of NVIDIA", g->module);

	if (container_kind(&d->sysroot))
		finding_fix(f, "docker run --gpus all ...  # NVIDIA's container toolkit mounts it; or podman run "
			       "--device nvidia.com/gpu=all");
	else
		finding_fix(f, "sudo apt install libcuda1  # in version %s", g->module);
}

/* ---- device nodes ---- */

static const char *const device_nodes[] = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"};

static bool check_device_node(struct doctor *d, const char *node)
{
	char outside[PATH_MAX];
	struct stat st;
	struct finding *f;

	if (sysroot_outside(&d->sysroot, node, outside) || stat(outside, &st)) {
		f = finding_add(d, vendor_status(d), "%s does not exist, although the kernel module is loaded", node);
		finding_fix(f, "sudo nvidia-modprobe -c 0 -u");
		return false;
	}
	if (access(outside, R_OK | W_OK)) {
		f = finding_add(d, vendor_status(d),
			"this user has no permission to use %s (mode %o, user %u, group %u)", node, st.st_mode & 0777,
			(unsigned)st.st_uid, (unsigned)st.st_gid);
		finding_fix(f,
			st.st_gid && (st.st_mode & 060) == 060 ? "sudo usermod -aG %u $USER  # then log in again"
							       : "sudo chmod 666 /dev/nvidia*",
			(unsigned)st.st_gid);
		return false;
	}
	return true;
}

static bool find_gpu_facts(struct doctor *d, struct gpu_facts *g)
{
	find_gpus(&d->sysroot, g);
	find_kernel_module(&d->sysroot, g);
	find_vendor_library(d, g);
	return g->count || g->module[0] || g->path[0];
}

bool vendor_gpu_present(struct doctor *d)
{
	struct gpu_facts g = {0};

	return find_gpu_facts(d, &g);
}

void probe_vendor(struct doctor *d)
{
	struct gpu_facts g = {0};

	if (!find_gpu_facts(d, &g)) {
		finding_add(d, STATUS_FACT, "this machine has no NVIDIA GPU and no NVIDIA driver");
		return;
	}
	if (g.count && !g.module[0])
		return report_no_module(d, &g);
	if (!g.module[0]) {
		finding_add(
			d, STATUS_FACT, "an NVIDIA driver library without a GPU: %s (%s)", g.path, g.library.version);
		return;
	}
	if (!g.path[0])
		return report_no_library(d, &g);
	if (g.library.version[0] && strcmp(g.library.version, g.module)) {
		struct finding *f = finding_add(d, vendor_status(d),
			"the kernel module has version %s, but the library %s has version %s: the driver was upgraded, "
			"and the "
			"old module is still loaded",
			g.module, g.path, g.library.version);
		finding_detail(f, "CUDA calls return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH.");
		finding_fix(f, "sudo reboot");
		return;
	}
	for (size_t i = 0; i < sizeof device_nodes / sizeof *device_nodes; i++)
		if (!check_device_node(d, device_nodes[i]))
			return;
	finding_add(d, STATUS_FINE, "%u NVIDIA GPU%s (%s), kernel module and library %s", g.count,
		g.count == 1 ? "" : "s", g.id, g.module);
}
