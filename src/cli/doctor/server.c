/* Check the server, and the device that a program gets. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"
#include "transport/transport.h"
#include "util/build_note.h"
#include "transport/default_socket.h"
#include "wire/protocol.h"

static bool is_unix_address(const char *address)
{
	return !strncmp(address, "unix:", 5);
}

static bool is_server_address(const char *device)
{
	return is_unix_address(device) || !strncmp(device, "tcp:", 4);
}

#define ADDRESS_MAX (2 * PATH_MAX)

/* Convert an address inside the sysroot to one that we can connect to. */
static void address_outside(const struct doctor *d, const char *address, char out[ADDRESS_MAX])
{
	if (is_unix_address(address) && d->sysroot.root[0])
		snprintf(out, ADDRESS_MAX, "unix:%s%s", d->sysroot.root, address + 5);
	else
		snprintf(out, ADDRESS_MAX, "%s", address);
}

/* The address of a local server that was started without --listen. */
static void default_address(const struct doctor *d, char *address, size_t size)
{
	const char *given = sysroot_env(&d->sysroot, "GANGWAY_SOCKET");

	if (d->sysroot.root[0])
		snprintf(address, size, "unix:%s", given && *given ? given : SYSTEM_SOCKET);
	else if (!default_socket_find(address, size))
		default_socket_address(address, size);
}

static bool has_service_unit(const struct doctor *d)
{
	return sysroot_is_file(&d->sysroot, "/etc/systemd/system/gangway.service") ||
	       sysroot_is_file(&d->sysroot, "/lib/systemd/system/gangway.service") ||
	       sysroot_is_file(&d->sysroot, "/usr/lib/systemd/system/gangway.service");
}

/* ---- server problems ---- */

static bool is_loopback(const char *host)
{
	return !strncmp(host, "localhost:", 10) || !strncmp(host, "127.", 4) || !strncmp(host, "[::1]:", 6);
}

/* Never suggest an address that opens the port to more machines than the user named. */
static void fix_start_tcp_server(struct finding *f, const char *address, const char *device)
{
	const char *host = address + strlen("tcp://");

	if (is_loopback(host)) {
		finding_fix(f, "gangway serve%s --listen %s", device, address);
		return;
	}
	finding_detail(f, "TCP is neither encrypted nor authenticated: use it only in a network that you trust.");
	finding_fix(f, "ssh %.*s gangway serve --listen %s", (int)(strrchr(host, ':') - host), host, address);
}

/* Is the socket or its folder mounted into this container from outside? A bind mount shows a part of a file system. */
static bool is_mounted_from_outside(const struct doctor *d, const char *path)
{
	char name[64], text[65536], root[PATH_MAX], point[PATH_MAX], *save = NULL;
	size_t folder = (size_t)(strrchr(path, '/') - path);

	snprintf(name, sizeof name, d->sysroot.pid ? "/proc/%d/mountinfo" : "/proc/self/mountinfo", d->sysroot.pid);
	if (sysroot_read(&d->sysroot, name, text, sizeof text) <= 0)
		return false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) == 2 && strcmp(root, "/") &&
			(!strcmp(point, path) || (folder && strlen(point) == folder && !strncmp(point, path, folder))))
			return true;
	return false;
}

static void fix_start_unix_server(struct doctor *d, struct finding *f, const char *address, const char *device)
{
	const char *container = container_kind(&d->sysroot), *path = address + strlen("unix:");
	char usual[PATH_MAX];

	default_address(d, usual, sizeof usual);
	container = container && strcmp(container, "wsl") ? container : NULL;
	if (container && *path == '/' && is_mounted_from_outside(d, path)) {
		finding_fix(f, "gangway serve --listen %s  # outside the container, with the path that it has there",
			address);
		return;
	}
	if (container)
		finding_detail(f,
			"To use a server outside this container, start the container with %s run -v %s:%s, or with a "
			"device of gangway cdi.",
			strcmp(container, "docker") ? "podman" : "docker", path, path);
	if (!strcmp(address, usual) && has_service_unit(d))
		finding_fix(f, "sudo systemctl start gangway");
	else if (!strcmp(address, usual))
		finding_fix(f, "gangway serve%s", device);
	else
		finding_fix(f, "gangway serve%s --listen %s", device, address);
}

static void fix_start_server(struct doctor *d, struct finding *f, const char *address)
{
	const char *device = vendor_gpu_present(d) ? "" : " --on cpu";

	if (is_unix_address(address))
		fix_start_unix_server(d, f, address, device);
	else
		fix_start_tcp_server(f, address, device);
}

static const char *user_name(void)
{
	struct passwd *p = getpwuid(geteuid());

	return p ? p->pw_name : "$USER";
}

/* Find what denies access: the socket, or its folder (the packages make the socket a link into a folder). */
static bool find_barrier(const char *path, struct stat *st, unsigned *bits)
{
	char target[ADDRESS_MAX];
	ssize_t n;

	*bits = 060;
	if (!stat(path, st))
		return true;
	n = readlink(path, target, sizeof target - 1);
	if (n > 0)
		target[n] = 0;
	else
		snprintf(target, sizeof target, "%s", path);
	char *slash = strrchr(target, '/');
	if (slash)
		*slash = 0;
	*bits = 010;
	return slash && !stat(target, st);
}

static void report_server_forbidden(struct doctor *d, const char *address, const char *error)
{
	struct finding *f = finding_add(d, STATUS_WRONG, "this user has no permission to use the server: %s", error);
	char there[ADDRESS_MAX];
	struct stat st;
	struct group *g;
	unsigned bits;

	address_outside(d, address, there);
	if (!is_unix_address(address) || !find_barrier(there + 5, &st, &bits)) {
		finding_fix(f, "sudo gangway doctor  # this user cannot see what denies access");
		return;
	}
	g = getgrgid(st.st_gid);
	if ((st.st_mode & bits) == bits && st.st_gid && g) {
		finding_detail(
			f, "Members of the group %s have permission; log in again after the change.", g->gr_name);
		finding_fix(f, "sudo usermod -aG %s %s", g->gr_name, user_name());
	} else {
		finding_detail(f,
			"Only its owner (user %u) has permission. A server started with --group admits a group.",
			(unsigned)st.st_uid);
		finding_fix(f, "gangway serve --group GROUP  # as the owner");
	}
}

static void report_server_mismatch(struct doctor *d, const char *address, const char *error)
{
	struct finding *f =
		finding_add(d, STATUS_WRONG, "the server %s uses another protocol than this build", address);

	finding_detail(f, "%s.", error);
	if (!is_unix_address(address))
		finding_fix(f, "ssh %.*s sudo systemctl restart gangway  # after it has been upgraded to %s",
			(int)(strrchr(address, ':') - address - 6), address + 6, build_note_text);
	else if (has_service_unit(d))
		finding_fix(f, "sudo systemctl restart gangway");
	else
		finding_fix(f, "fuser -k %s; gangway serve --listen %s", address + 5, address);
}

static void report_server_failure(struct doctor *d, const char *address, int err, const char *error)
{
	if (err == -EACCES || err == -EPERM)
		report_server_forbidden(d, address, error);
	else if (err == -EPROTO)
		report_server_mismatch(d, address, error);
	else if (err == -ECONNREFUSED && strstr(error, "refuses"))
		finding_fix(finding_add(d, STATUS_WRONG, "%s", error),
			"gangway serve --clients N  # with a larger N, on the server");
	else if (err == -EINVAL || err == -ENAMETOOLONG || err == -EHOSTUNREACH)
		finding_fix(finding_add(d, STATUS_WRONG, "%s", error),
			"export GANGWAY_DEVICE=tcp://HOST:PORT  # or unix:PATH");
	else
		fix_start_server(d, finding_add(d, STATUS_WRONG, "no server answers: %s", error), address);
}

/* ---- connecting ---- */

/* First probe the socket only; then connect as a client, which occupies a worker for a moment. */
static int server_connect(
	const struct doctor *d, const char *name, char build[LINK_BUILD_TEXT], char error[LINK_ERROR_TEXT])
{
	struct link_config config = link_defaults(false);
	struct link *link;
	char address[ADDRESS_MAX];

	address_outside(d, name, address);
	int err = link_probe(address, error);
	if (err)
		return err;
	config.build = build_note_text;
	config.protocol = wire_protocol();
	err = link_connect(&link, address, &config, error);
	if (err)
		return err;
	snprintf(build, LINK_BUILD_TEXT, "%s", link_peer(link)->build);
	link_destroy(link);
	return 0;
}

static void check_chosen_server(struct doctor *d, const char *address)
{
	char error[LINK_ERROR_TEXT] = "", build[LINK_BUILD_TEXT] = "";
	int err = server_connect(d, address, build, error);

	if (err) {
		d->server_wrong = true;
		report_server_failure(d, address, err, error);
		return;
	}
	struct finding *f =
		finding_add(d, STATUS_FINE, "the server %s answers, with the same protocol: %s", address, build);
	finding_fact(f, "address", "%s", address);
	finding_fact(f, "build", "%s", build);
}

/* No device was chosen: check the default server if there is one. A missing server is no problem. */
static void check_default_server(struct doctor *d)
{
	char address[PATH_MAX], there[ADDRESS_MAX], error[LINK_ERROR_TEXT] = "", build[LINK_BUILD_TEXT] = "";
	struct stat st;

	default_address(d, address, sizeof address);
	address_outside(d, address, there);
	if (lstat(there + 5, &st)) {
		finding_add(d, STATUS_FACT, "no gangway serve runs on this machine (%s does not exist)", address);
		return;
	}
	if (st.st_uid && st.st_uid != geteuid()) {
		finding_add(d, STATUS_LOOK,
			"%s belongs to user %u, who is neither root nor this user: programs ignore it", address,
			(unsigned)st.st_uid);
		return;
	}
	int err = server_connect(d, address, build, error);
	if (!err)
		finding_add(d, STATUS_FINE, "the server %s answers, with the same protocol: %s", address, build);
	else if (err == -EPROTO || err == -EACCES || err == -EPERM)
		report_server_failure(d, address, err, error);
	else
		fix_start_server(d,
			finding_add(d, STATUS_LOOK, "the server has ended, and programs use another device: %s", error),
			address);
}

void probe_server(struct doctor *d)
{
	const char *device = sysroot_env(&d->sysroot, "GANGWAY_DEVICE");

	if (device && is_server_address(device))
		check_chosen_server(d, device);
	else if (!device || !*device)
		check_default_server(d);
}

/* ---- the device ---- */

/* The reason begins with the variable whose value is invalid, if there is one: GANGWAY_CPU_CC=13.0 is invalid. */
static void fix_no_device(const struct doctor *d, struct finding *f)
{
	const char *why = d->device.why;
	char variable[64], command[COMMAND_MAX] = "PROGRAM";
	size_t n = strspn(why, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

	if (d->argv)
		command_words(d->argv, command);
	if (!d->device.opened && n && n < sizeof variable && why[n] == '=') {
		snprintf(variable, sizeof variable, "%.*s", (int)n, why);
		fix_unset_variable(d, f, variable);
	} else if (!strcmp(d->device.chosen, "cpu")) {
		finding_fix(f, "gangway run --trace -- %s  # shows the calls before the failure", command);
	} else {
		finding_fix(f, "gangway run --on cpu -- %s", command);
	}
}

static void report_hidden(struct doctor *d, const char *list)
{
	struct finding *f = finding_add(d, STATUS_WRONG, "CUDA_VISIBLE_DEVICES=%s hides every device", list);

	finding_detail(f, "The list ends at the first entry that names no device.");
	fix_unset_variable(d, f, "CUDA_VISIBLE_DEVICES");
}

static void report_devices(struct doctor *d)
{
	const struct device_facts *a = &d->device;
	char memory[32];

	for (int i = 0; i < a->count; i++) {
		const struct device_fact *one = &a->device[i];
		struct finding *f = finding_add(d, STATUS_FINE, "%s %d: %s, compute capability %d.%d, %s", a->chosen, i,
			one->name, one->major, one->minor, format_bytes(one->memory, memory));

		finding_fact(f, "device", "%s", a->chosen);
		finding_fact(f, "name", "%s", one->name);
		finding_fact(f, "capability", "%d.%d", one->major, one->minor);
		finding_fact(f, "memory", "%zu", one->memory);
		finding_fact(f, "cuda", "%d.%d", a->version / 1000, a->version % 1000 / 10);
	}
}

void probe_device(struct doctor *d)
{
	const char *visible = sysroot_env(&d->sysroot, "CUDA_VISIBLE_DEVICES"),
		   *asked = sysroot_env(&d->sysroot, "GANGWAY_DEVICE");
	char library[PATH_MAX + 32], address[ADDRESS_MAX] = "";

	if (!d->library_dir[0] || d->server_wrong)
		return;
	if (d->sysroot.root[0] &&
		(!asked || !*asked || !strcmp(asked, "nvidia"))) /* never start the driver of another system */
		return;
	if (asked)
		address_outside(d, asked, address);
	snprintf(library, sizeof library, "%s/libcuda.so.1", d->library_dir);
	device_query(&d->sysroot, library, address, &d->device);
	d->device_known = true;
	if (d->device.opened && d->device.count)
		report_devices(d);
	else if (visible && (d->device.opened || d->device.result == 100)) /* CUDA_ERROR_NO_DEVICE */
		report_hidden(d, visible);
	else if (d->device.opened)
		fix_no_device(d, finding_add(d, STATUS_WRONG, "%s has no device", d->device.chosen));
	else
		fix_no_device(d, finding_add(d, STATUS_WRONG, "no device: %s", d->device.why));
}
