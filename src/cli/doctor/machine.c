/* Check resource limits, containers and virtual machines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "cli/doctor/doctor.h"
#include "transport/default_socket.h"

/* ---- limits ---- */

#define OPEN_FILES_MIN 256
#define SHM_SMALL      (64ull << 20)

char *format_bytes(unsigned long long bytes, char text[32])
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double n = (double)bytes;
	int u = 0;

	while (n >= 1024 && u < 4)
		n /= 1024, u++;
	snprintf(text, 32, u && n < 10 ? "%.1f %s" : "%.0f %s", n, units[u]);
	return text;
}

static char *format_limit(rlim_t n, bool bytes, char text[32])
{
	if (n == RLIM_INFINITY)
		snprintf(text, 32, "unlimited");
	else if (bytes)
		format_bytes(n, text);
	else
		snprintf(text, 32, "%llu", (unsigned long long)n);
	return text;
}

/* The limit of the examined process, or our own. */
static rlim_t soft_limit(const struct doctor *d, int which)
{
	struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};

	if (prlimit(d->sysroot.pid, which, NULL, &l))
		return RLIM_INFINITY;
	return l.rlim_cur;
}

static unsigned long long shm_size(const struct doctor *d)
{
	char outside[PATH_MAX];
	struct statvfs fs;

	if (sysroot_outside(&d->sysroot, "/dev/shm", outside) || statvfs(outside, &fs))
		return 0;
	return (unsigned long long)fs.f_blocks * fs.f_frsize;
}

static void check_memfd(struct doctor *d)
{
	int fd = memfd_create("gangway-doctor", MFD_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return;
	}
	struct finding *f = finding_add(d, STATUS_WRONG,
		"memfd_create is not permitted (%s): programs cannot share memory with a server on this machine",
		strerror(errno));
	finding_fix(f, "docker run --security-opt seccomp=unconfined ...  # or allow memfd_create in the profile");
}

void probe_limits(struct doctor *d)
{
	rlim_t files = soft_limit(d, RLIMIT_NOFILE), space = soft_limit(d, RLIMIT_AS),
	       locked = soft_limit(d, RLIMIT_MEMLOCK);
	unsigned long long shm = shm_size(d);
	char a[32], b[32], c[32], e[32];

	check_memfd(d);
	if (space != RLIM_INFINITY)
		finding_fix(finding_add(d, STATUS_LOOK,
				    "the address space is limited to %s, but CUDA reserves far more than it uses",
				    format_limit(space, true, a)),
			"ulimit -v unlimited");
	if (files < OPEN_FILES_MIN)
		finding_fix(finding_add(d, STATUS_LOOK,
				    "only %s open files are allowed: each thread that uses a server needs one, and "
				    "CUDA programs have many "
				    "threads",
				    format_limit(files, false, a)),
			"ulimit -n 4096");
	struct finding *f = finding_add(d, STATUS_FACT,
		"open files %s, locked memory %s, address space %s, /dev/shm %s", format_limit(files, false, a),
		format_limit(locked, true, b), format_limit(space, true, c), shm ? format_bytes(shm, e) : "missing");
	if (shm && shm <= SHM_SMALL)
		finding_detail(f, "Gangway does not need /dev/shm, but PyTorch's data loaders and NCCL do: docker run "
				  "--shm-size=1g.");
	finding_fact(f, "nofile", "%s", a);
	finding_fact(f, "memlock", "%s", b);
	finding_fact(f, "as", "%s", c);
	finding_fact(f, "shm", "%llu", shm);
}

/* ---- containers ---- */

const char *container_kind(const struct sysroot *sys)
{
	static char kind[64];
	const char *said = sysroot_env(sys, "container");
	char text[4096];

	if (sysroot_is_file(sys, "/run/.containerenv"))
		return "podman";
	if (sysroot_is_file(sys, "/.dockerenv"))
		return "docker";
	if (sysroot_read(sys, "/run/systemd/container", kind, sizeof kind) > 0) {
		kind[strcspn(kind, "\n")] = 0;
		return kind;
	}
	if (sysroot_read(sys, "/proc/1/cgroup", text, sizeof text) > 0 &&
		(strstr(text, "kubepods") || strstr(text, "/docker/") || strstr(text, "/lxc/")))
		return strstr(text, "kubepods") ? "kubernetes" : strstr(text, "/lxc/") ? "lxc" : "docker";
	if (said && *said)
		return said;
	if (sysroot_read(sys, "/proc/version", text, sizeof text) > 0 && strstr(text, "microsoft"))
		return "wsl";
	return NULL;
}

void probe_container(struct doctor *d)
{
	const char *kind = container_kind(&d->sysroot), *visible = sysroot_env(&d->sysroot, "NVIDIA_VISIBLE_DEVICES");
	struct stat st;

	if (!kind)
		return;
	bool gpu = !sysroot_stat(&d->sysroot, "/dev/nvidiactl", &st),
	     server = !sysroot_stat(&d->sysroot, SYSTEM_SOCKET, &st);
	struct finding *f = finding_add(d, STATUS_FACT, "this is a container (%s) with %s", kind,
		gpu && server ? "a GPU and a server's socket"
		: gpu         ? "a GPU, but without a server's socket"
		: server      ? "a server's socket, but without a GPU"
			      : "neither a GPU nor a server's socket");

	if (!gpu && !server)
		finding_detail(f, "To use the host's device, run gangway serve there and start the container with "
				  "-v " SYSTEM_SOCKET ":" SYSTEM_SOCKET ".");
	if (visible)
		finding_detail(f, "NVIDIA_VISIBLE_DEVICES=%s%s", visible,
			!strcmp(visible, "void") || !strcmp(visible, "none")
				? ": NVIDIA's container toolkit provides no GPU."
				: ".");
}

/* ---- virtual machines ---- */

static const char *hypervisor_name(const struct sysroot *sys)
{
	static char vendor[64];
	char text[8192];

	if (sysroot_read(sys, "/sys/hypervisor/type", vendor, sizeof vendor) > 0 ||
		sysroot_read(sys, "/sys/class/dmi/id/sys_vendor", vendor, sizeof vendor) > 0) {
		vendor[strcspn(vendor, "\n")] = 0;
		static const char *const known[] = {"QEMU", "VMware", "Xen", "xen", "Microsoft", "Amazon EC2", "Google",
			"innotek", "Parallels", "OpenStack"};
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			if (!strncmp(vendor, known[i], strlen(known[i])))
				return vendor;
	}
	if (sysroot_read(sys, "/proc/cpuinfo", text, sizeof text) > 0 && strstr(text, " hypervisor"))
		return "unknown hypervisor";
	return NULL;
}

/* Does the machine have ivshmem (1af4:1110), QEMU's memory shared between host and guest? */
static bool has_ivshmem(const struct sysroot *sys)
{
	DIR *list = sysroot_list(sys, "/sys/bus/pci/devices");
	char path[PATH_MAX], vendor[32], device[32];
	struct dirent *e;
	bool found = false;

	while (list && !found && (e = readdir(list))) {
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", e->d_name);
		if (e->d_name[0] == '.' || sysroot_read(sys, path, vendor, sizeof vendor) <= 0 ||
			strncmp(vendor, "0x1af4", 6))
			continue;
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/device", e->d_name);
		found = sysroot_read(sys, path, device, sizeof device) > 0 && !strncmp(device, "0x1110", 6);
	}
	if (list)
		closedir(list);
	return found;
}

void probe_virtual(struct doctor *d)
{
	const char *kind = hypervisor_name(&d->sysroot);
	char text[128] = "", *open, *close;
	struct finding *f;

	sysroot_read(&d->sysroot, "/sys/kernel/security/lockdown", text, sizeof text);
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = 0;
	bool locked = close && strcmp(open + 1, "none");
	if (locked && has_ivshmem(&d->sysroot)) {
		f = finding_add(d, STATUS_LOOK,
			"the kernel is locked down (%s): programs cannot map the memory that this machine shares with "
			"its "
			"host",
			open + 1);
		finding_detail(f, "Use the host's device over the network.");
		finding_fix(f, "gangway run --on tcp://HOST:PORT -- PROGRAM");
	} else if (locked) {
		finding_add(d, STATUS_FACT, "the kernel is locked down (%s); this does not affect Gangway", open + 1);
	}
	if (kind)
		finding_add(d, STATUS_FACT,
			"this is a virtual machine (%s); gangway run --on tcp://HOST:PORT uses a GPU of its host",
			kind);
}
