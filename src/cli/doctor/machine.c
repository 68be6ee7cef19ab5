/* machine.c - what surrounds a process: limits, a container, a virtual machine. */
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

#define FEW_FILES 256
#define SMALL_SHM (64ull << 20)

char *bytes_text(unsigned long long bytes, char text[32])
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double n = (double)bytes;
	int u = 0;

	while (n >= 1024 && u < 4)
		n /= 1024, u++;
	snprintf(text, 32, u && n < 10 ? "%.1f %s" : "%.0f %s", n, units[u]);
	return text;
}

static char *limit_text(rlim_t n, bool bytes, char text[32])
{
	if (n == RLIM_INFINITY)
		snprintf(text, 32, "unlimited");
	else if (bytes)
		bytes_text(n, text);
	else
		snprintf(text, 32, "%llu", (unsigned long long)n);
	return text;
}

/* Ours, or those of the process in question. */
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

static void look_at_memfd(struct doctor *d)
{
	int fd = memfd_create("gangway-doctor", MFD_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return;
	}
	struct finding *f = say(d, WRONG,
		"memfd_create is refused (%s): no memory can be shared with a server on this machine", strerror(errno));
	fix(f, "docker run --security-opt seccomp=unconfined ...  # or allow memfd_create in the profile");
}

void probe_limits(struct doctor *d)
{
	rlim_t files = soft_limit(d, RLIMIT_NOFILE), space = soft_limit(d, RLIMIT_AS),
	       locked = soft_limit(d, RLIMIT_MEMLOCK);
	unsigned long long shm = shm_size(d);
	char a[32], b[32], c[32], e[32];

	look_at_memfd(d);
	if (space != RLIM_INFINITY)
		fix(say(d, LOOK, "address space is limited to %s: CUDA reserves far more than it uses",
			    limit_text(space, true, a)),
			"ulimit -v unlimited");
	if (files < FEW_FILES)
		fix(say(d, LOOK,
			    "only %s open files: each thread that talks to a server needs one, and CUDA programs "
			    "are threaded",
			    limit_text(files, false, a)),
			"ulimit -n 4096");
	struct finding *f = say(d, FACT, "open files %s, locked memory %s, address space %s, /dev/shm %s",
		limit_text(files, false, a), limit_text(locked, true, b), limit_text(space, true, c),
		shm ? bytes_text(shm, e) : "missing");
	if (shm && shm <= SMALL_SHM)
		more(f, "Gangway needs no /dev/shm, but loaders of PyTorch and NCCL do: docker run "
			"--shm-size=1g.");
	tell(f, "nofile", "%s", a);
	tell(f, "memlock", "%s", b);
	tell(f, "as", "%s", c);
	tell(f, "shm", "%llu", shm);
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
	struct finding *f = say(d, FACT, "in a container (%s), into which %s passed", kind,
		gpu && server ? "a GPU and a server's socket were"
		: gpu         ? "a GPU was"
		: server      ? "a server's socket was"
			      : "neither a GPU nor a server's socket was");

	if (!gpu && !server)
		more(f, "The host's device: gangway serve there, and -v " SYSTEM_SOCKET ":" SYSTEM_SOCKET " here.");
	if (visible)
		more(f, "NVIDIA_VISIBLE_DEVICES=%s%s", visible,
			!strcmp(visible, "void") || !strcmp(visible, "none") ? ": NVIDIA's own hook passes no GPU in."
									     : ".");
}

/* ---- virtual machines ---- */

static const char *virtual_kind(const struct sysroot *sys)
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
		return "a hypervisor that does not say its name";
	return NULL;
}

/* QEMU's shared memory between host and guest: 1af4:1110. */
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
	const char *kind = virtual_kind(&d->sysroot);
	char text[128] = "", *open, *close;
	struct finding *f;

	sysroot_read(&d->sysroot, "/sys/kernel/security/lockdown", text, sizeof text);
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = 0;
	bool locked = close && strcmp(open + 1, "none");
	if (locked && has_ivshmem(&d->sysroot)) {
		f = say(d, LOOK,
			"the kernel is locked down (%s): no program may map the memory that this machine "
			"shares with its host",
			open + 1);
		more(f, "Reach the host's device over the network.");
		fix(f, "gangway run --on tcp://HOST:PORT -- PROGRAM");
	} else if (locked) {
		say(d, FACT, "the kernel is locked down (%s); Gangway does nothing that this forbids", open + 1);
	}
	if (kind)
		say(d, FACT,
			"in a virtual machine (%s); a GPU of its host is reached with gangway run --on "
			"tcp://HOST:PORT",
			kind);
}
