/* install.c - is our own installation whole, and may it keep what it makes? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "audit/files.h"
#include "cli/cli.h"
#include "cli/doctor/doctor.h"
#include "util/build_note.h"

/* What gangway run cannot do without, and what it gives beside. */
static const struct {
	const char *file;
	bool needed;
} parts[] = {
	{"libcuda.so.1", true},
	{"libgangway-soft.so", true},
	{AUDIT_REDIRECT, true},
	{AUDIT_FOLLOW, true},
	{"libnvidia-ml.so.1", false},
};

/* How this copy of us came here, as far as its place says. */
static void say_reinstall(struct finding *f)
{
	char exe[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	exe[n > 0 ? n : 0] = 0;
	char *bin = strstr(exe, "/bin/gangway");
	if (bin)
		*bin = 0;
	if (!strcmp(exe, "/usr"))
		fix(f, "sudo apt install --reinstall gangway");
	else
		fix(f, "make install PREFIX=%s  # in Gangway's source", bin ? exe : "/usr/local");
}

void probe_install(struct doctor *d)
{
	char path[PATH_MAX + 64], text[128];
	struct finding *other = NULL;
	unsigned n = 0;

	if (!d->ours[0]) {
		say_reinstall(say(
			d, WRONG, "there is no ../lib/gangway beside this program: the installation is not complete"));
		return;
	}
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		snprintf(path, sizeof path, "%s/%s", d->ours, parts[i].file);
		bool there = note_read(path, text, sizeof text);

		if (there && !strcmp(text, note_build)) {
			n++;
		} else if (there) {
			if (!other)
				other = say(d, WRONG,
					"the libraries in %s and this program (%s) are of different builds", d->ours,
					note_build);
			more(other, "%s: %s", parts[i].file, text);
			say_reinstall(other);
		}
	}
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		snprintf(path, sizeof path, "%s/%s", d->ours, parts[i].file);
		if (!note_read(path, text, sizeof text) && (parts[i].needed || !access(path, F_OK)))
			say_reinstall(
				say(d, WRONG, "%s is %s", path, access(path, F_OK) ? "missing" : "not Gangway's"));
	}
	if (!doctor_is_wrong(d))
		say(d, FINE, "%u libraries of this build (%s) in %s", n, note_build, d->ours);
}

/* ---- images that a server keeps; the rules are those of server/code/image_store.c ---- */

static void cache_path(const struct doctor *d, char path[PATH_MAX])
{
	const char *cache = sysroot_env(&d->sysroot, "XDG_CACHE_HOME"), *home = sysroot_env(&d->sysroot, "HOME");

	path[0] = 0;
	if (cache && *cache == '/')
		snprintf(path, PATH_MAX, "%s/gangway/images", cache);
	else if (home && *home == '/')
		snprintf(path, PATH_MAX, "%s/.cache/gangway/images", home);
}

void probe_cache_folder(struct doctor *d)
{
	char path[PATH_MAX], outside[PATH_MAX], room[32];
	struct statvfs fs;
	struct stat st;

	cache_path(d, path);
	if (!path[0]) {
		struct finding *f = say(d, LOOK,
			"neither XDG_CACHE_HOME nor HOME is set: gangway serve keeps no "
			"images for its next client");
		fix(f, "export HOME=~");
		return;
	}
	if (snprintf(outside, sizeof outside, "%s%s", d->sysroot.root, path) >= (int)sizeof outside ||
		lstat(outside, &st)) {
		say(d, FACT, "%s is not there yet; gangway serve makes it", path);
		return;
	}
	if (S_ISLNK(st.st_mode) || !S_ISDIR(st.st_mode))
		fix(say(d, LOOK, "%s is no folder: gangway serve keeps no images for its next client", path), "rm %s",
			path);
	else if (st.st_uid != geteuid())
		fix(say(d, LOOK, "%s belongs to user %u: gangway serve keeps nothing there", path, (unsigned)st.st_uid),
			"sudo chown -R $(id -u) %s", path);
	else if (st.st_mode & 077)
		fix(say(d, LOOK, "%s is open to others (mode %o): gangway serve keeps nothing there", path,
			    st.st_mode & 0777),
			"chmod 700 %s", path);
	else if (!statvfs(outside, &fs))
		say(d, FINE, "%s, %s free", path, bytes_text((unsigned long long)fs.f_bavail * fs.f_frsize, room));
}
