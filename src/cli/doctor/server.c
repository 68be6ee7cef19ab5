/* server.c - the device a program would get: a server that answers, one that does not, or what comes after
 * it. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/doctor/doctor.h"
#include "transport/transport.h"
#include "util/build_note.h"
#include "transport/default_socket.h"
#include "wire/protocol.h"

static bool is_unix(const char *address)
{
	return !strncmp(address, "unix:", 5);
}

static bool is_address(const char *device)
{
	return is_unix(device) || !strncmp(device, "tcp:", 4);
}

#define ADDRESS (2 * PATH_MAX)

/* An address of the world's, as we name it. */
static void outside(const struct doctor *d, const char *address, char out[ADDRESS])
{
	if (is_unix(address) && d->sysroot.root[0])
		snprintf(out, ADDRESS, "unix:%s%s", d->sysroot.root, address + 5);
	else
		snprintf(out, ADDRESS, "%s", address);
}

/* The socket where a server of this machine's listens by itself. */
static void usual_address(const struct doctor *d, char *address, size_t size)
{
	const char *given = sysroot_env(&d->sysroot, "GANGWAY_SOCKET");

	if (d->sysroot.root[0])
		snprintf(address, size, "unix:%s", given && *given ? given : SYSTEM_SOCKET);
	else if (!default_socket_find(address, size))
		default_socket_address(address, size);
}

static bool has_unit(const struct doctor *d)
{
	return sysroot_is_file(&d->sysroot, "/etc/systemd/system/gangway.service") ||
	       sysroot_is_file(&d->sysroot, "/lib/systemd/system/gangway.service") ||
	       sysroot_is_file(&d->sysroot, "/usr/lib/systemd/system/gangway.service");
}

/* ---- what is wrong with it ---- */

static void fix_start(struct doctor *d, struct finding *f, const char *address)
{
	char usual[PATH_MAX];
	const char *container = container_kind(&d->sysroot);

	usual_address(d, usual, sizeof usual);
	if (container && is_unix(address) && strcmp(container, "wsl"))
		fix(f,
			"%s run -v %s:%s ...  # and gangway serve on the host; or --device gangway.dev/gpu=0, "
			"see "
			"gangway cdi",
			strcmp(container, "docker") ? "podman" : "docker", address + 5, address + 5);
	else if (!is_unix(address))
		fix(f, "gangway serve --listen tcp://0.0.0.0:%s  # on that machine", strrchr(address, ':') + 1);
	else if (!strcmp(address, usual) && has_unit(d))
		fix(f, "sudo systemctl start gangway");
	else if (!strcmp(address, usual))
		fix(f, "gangway serve");
	else
		fix(f, "gangway serve --listen %s", address);
}

static const char *user_name(void)
{
	struct passwd *p = getpwuid(geteuid());

	return p ? p->pw_name : "$USER";
}

/* What bars the way: the socket, or the folder that it lies in, behind a link as the packages have it. */
static bool gate(const char *path, struct stat *st, unsigned *bits)
{
	char target[ADDRESS];
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

static void say_forbidden(struct doctor *d, const char *address, const char *error)
{
	struct finding *f = say(d, WRONG, "this user may not use the server: %s", error);
	char there[ADDRESS];
	struct stat st;
	struct group *g;
	unsigned bits;

	outside(d, address, there);
	if (!is_unix(address) || !gate(there + 5, &st, &bits)) {
		fix(f, "sudo gangway doctor  # what is in the way cannot be seen by this user");
		return;
	}
	g = getgrgid(st.st_gid);
	if ((st.st_mode & bits) == bits && st.st_gid && g) {
		more(f, "Its group, %s, may; log in again after the change.", g->gr_name);
		fix(f, "sudo usermod -aG %s %s", g->gr_name, user_name());
	} else {
		more(f, "Only its owner may (user %u); a server that is started with --group lets a group in.",
			(unsigned)st.st_uid);
		fix(f, "gangway serve --group GROUP  # as its owner");
	}
}

static void say_mismatch(struct doctor *d, const char *address, const char *error)
{
	struct finding *f = say(d, WRONG, "%s does not speak this build's protocol", address);

	more(f, "%s.", error);
	if (!is_unix(address))
		fix(f, "ssh %.*s sudo systemctl restart gangway  # when it has %s",
			(int)(strrchr(address, ':') - address - 6), address + 6, note_build);
	else if (has_unit(d))
		fix(f, "sudo systemctl restart gangway");
	else
		fix(f, "fuser -k %s; gangway serve --listen %s", address + 5, address);
}

static void say_failure(struct doctor *d, const char *address, int err, const char *error)
{
	if (err == -EACCES || err == -EPERM)
		say_forbidden(d, address, error);
	else if (err == -EPROTO)
		say_mismatch(d, address, error);
	else if (err == -ECONNREFUSED && strstr(error, "refuses"))
		fix(say(d, WRONG, "%s", error), "gangway serve --clients N  # with a larger N");
	else if (err == -EINVAL || err == -ENAMETOOLONG || err == -EHOSTUNREACH)
		fix(say(d, WRONG, "%s", error), "export GANGWAY_DEVICE=tcp://HOST:PORT  # or unix:PATH");
	else
		fix_start(d, say(d, WRONG, "no server answers: %s", error), address);
}

/* ---- asking it ---- */

/* First without disturbing it, then as a client, which takes one of its workers for a moment. */
static int connect_once(
	const struct doctor *d, const char *name, char build[LINK_BUILD_TEXT], char error[LINK_ERROR_TEXT])
{
	struct link_config config = link_defaults(false);
	struct link *link;
	char address[ADDRESS];

	outside(d, name, address);
	int err = link_probe(address, error);
	if (err)
		return err;
	config.build = note_build;
	config.protocol = wire_protocol();
	err = link_connect(&link, address, &config, error);
	if (err)
		return err;
	snprintf(build, LINK_BUILD_TEXT, "%s", link_peer(link)->build);
	link_destroy(link);
	return 0;
}

static void ask_server(struct doctor *d, const char *address)
{
	char error[LINK_ERROR_TEXT] = "", build[LINK_BUILD_TEXT] = "";
	int err = connect_once(d, address, build, error);

	if (err) {
		d->server_wrong = true;
		say_failure(d, address, err, error);
		return;
	}
	struct finding *f = say(d, FINE, "%s answers, with the same protocol: %s", address, build);
	tell(f, "address", "%s", address);
	tell(f, "build", "%s", build);
}

/* Nobody asked for it: what is there is looked at, and what is not there is no fault. */
static void look_for_server(struct doctor *d)
{
	char address[PATH_MAX], there[ADDRESS], error[LINK_ERROR_TEXT] = "", build[LINK_BUILD_TEXT] = "";
	struct stat st;

	usual_address(d, address, sizeof address);
	outside(d, address, there);
	if (lstat(there + 5, &st)) {
		say(d, FACT, "no gangway serve on this machine (%s is not there)", address);
		return;
	}
	if (st.st_uid && st.st_uid != geteuid()) {
		say(d, LOOK, "%s belongs to user %u, neither root nor this one: programs pass over it", address,
			(unsigned)st.st_uid);
		return;
	}
	int err = connect_once(d, address, build, error);
	if (!err)
		say(d, FINE, "%s answers, with the same protocol: %s", address, build);
	else if (err == -EPROTO || err == -EACCES || err == -EPERM)
		say_failure(d, address, err, error);
	else
		fix_start(d, say(d, LOOK, "programs pass over a server that is gone: %s", error), address);
}

void probe_server(struct doctor *d)
{
	const char *device = sysroot_env(&d->sysroot, "GANGWAY_DEVICE");

	if (device && is_address(device))
		ask_server(d, device);
	else if (!device || !*device)
		look_for_server(d);
}

/* ---- the device ---- */

static void fix_device(const struct doctor *d, struct finding *f)
{
	const char *device = sysroot_env(&d->sysroot, "GANGWAY_DEVICE");

	if (device && *device)
		fix_unset(d, f, "GANGWAY_DEVICE");
	else
		fix(f, "gangway run --on cpu -- PROGRAM");
}

static void say_hidden(struct doctor *d, const char *list)
{
	struct finding *f = say(d, WRONG, "CUDA_VISIBLE_DEVICES=%s hides every device", list);

	more(f, "The list ends at the first entry that names no device.");
	fix_unset(d, f, "CUDA_VISIBLE_DEVICES");
}

static void say_devices(struct doctor *d)
{
	const struct device_facts *a = &d->device;
	char memory[32];

	for (int i = 0; i < a->count; i++) {
		const struct device_fact *one = &a->device[i];
		struct finding *f = say(d, FINE, "%s %d: %s, compute capability %d.%d, %s", a->chosen, i, one->name,
			one->major, one->minor, bytes_text(one->memory, memory));

		tell(f, "device", "%s", a->chosen);
		tell(f, "name", "%s", one->name);
		tell(f, "capability", "%d.%d", one->major, one->minor);
		tell(f, "memory", "%zu", one->memory);
		tell(f, "cuda", "%d.%d", a->version / 1000, a->version % 1000 / 10);
	}
}

void probe_device(struct doctor *d)
{
	const char *visible = sysroot_env(&d->sysroot, "CUDA_VISIBLE_DEVICES"),
		   *asked = sysroot_env(&d->sysroot, "GANGWAY_DEVICE");
	char library[PATH_MAX + 32], address[ADDRESS] = "";

	if (!d->ours[0] || d->server_wrong)
		return;
	if (d->sysroot.root[0] &&
		(!asked || !*asked || !strcmp(asked, "nvidia"))) /* no driver of another system's is started here */
		return;
	if (asked)
		outside(d, asked, address);
	snprintf(library, sizeof library, "%s/libcuda.so.1", d->ours);
	device_ask(&d->sysroot, library, address, &d->device);
	d->asked = true;
	if (d->device.opened && d->device.count)
		say_devices(d);
	else if (visible && (d->device.opened || d->device.result == 100)) /* CUDA_ERROR_NO_DEVICE */
		say_hidden(d, visible);
	else if (d->device.opened)
		fix_device(d, say(d, WRONG, "%s has no device", d->device.chosen));
	else
		fix_device(d, say(d, WRONG, "no device: %s", d->device.why));
}
