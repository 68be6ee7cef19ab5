/* Check our own installation, and the folder in which the server caches images. */
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

/* The files of an installation, and whether gangway run needs them. */
static const struct {
	const char *file;
	bool needed;
} installed_files[] = {
	{"libcuda.so.1", true},
	{"libgangway-soft.so", true},
	{AUDIT_REDIRECT, true},
	{AUDIT_FOLLOW, true},
	{"libnvidia-ml.so.1", false},
	{"libgangway-jit.so", false},
	{"cpu/libcublas.so.12", false},
	{"cpu/libcublas.so.13", false},
	{"cpu/libcublasLt.so.12", false},
	{"cpu/libcublasLt.so.13", false},
	{"cpu/libnvJitLink.so.12", false},
	{"cpu/libnvJitLink.so.13", false},
	{"cudart/libcudart.so.12", false},
	{"cudart/libcudart.so.13", false},
};

#define INSTALLED_FILES (sizeof installed_files / sizeof *installed_files)

/* Add the command that reinstalls Gangway, guessed from its location. */
static void fix_reinstall(struct finding *f)
{
	char exe[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	exe[n > 0 ? n : 0] = 0;
	char *bin = strstr(exe, "/bin/gangway");
	if (bin)
		*bin = 0;
	if (!strcmp(exe, "/usr"))
		finding_fix(f, "sudo apt install --reinstall gangway");
	else
		finding_fix(f, "make install PREFIX=%s  # in Gangway's source", bin ? exe : "/usr/local");
}

/* Count the libraries of an installation in the system under --root, which need not be this build. */
static unsigned check_installation_in(struct doctor *d, const char *dir)
{
	char path[PATH_MAX], outside[PATH_MAX], text[128], build[128] = "";
	bool mixed = false;
	unsigned n = 0;

	for (size_t i = 0; i < INSTALLED_FILES; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, installed_files[i].file);
		if (sysroot_outside(&d->sysroot, path, outside) || !build_note_read(outside, text, sizeof text))
			continue;
		mixed |= n++ && strcmp(build, text);
		snprintf(build, sizeof build, "%s", text);
	}
	if (mixed)
		finding_fix(finding_add(d, STATUS_WRONG, "the libraries in %s are from different builds", dir),
			"make install DESTDIR=%s PREFIX=%.*s  # in Gangway's source", d->sysroot.root,
			(int)(strstr(dir, "/lib/gangway") - dir), dir);
	else if (n)
		finding_add(d, STATUS_FINE, "%u librar%s of %s in %s", n, n == 1 ? "y" : "ies", build, dir);
	return n;
}

/* Where packages, make install and tarballs put our libraries. */
static const char *const usual_folders[] = {"/usr/lib/gangway", "/usr/local/lib/gangway", "/opt/gangway/lib/gangway"};

#define USUAL_FOLDERS (sizeof usual_folders / sizeof *usual_folders)

bool install_find_in_root(const struct doctor *d, const char *file, char path[4096])
{
	for (size_t i = 0; i < USUAL_FOLDERS; i++) {
		snprintf(path, 4096, "%s%s", usual_folders[i], file);
		if (sysroot_is_file(&d->sysroot, path))
			return true;
	}
	return false;
}

static void check_root_installation(struct doctor *d)
{
	for (size_t i = 0; i < USUAL_FOLDERS; i++)
		if (check_installation_in(d, usual_folders[i]))
			return;
	finding_add(d, STATUS_FACT, "Gangway is not installed in %s", d->sysroot.root);
}

void probe_install(struct doctor *d)
{
	char path[PATH_MAX + 64], text[128];
	struct finding *other = NULL;
	unsigned n = 0;

	if (d->sysroot.root[0] && !d->sysroot.pid)
		return check_root_installation(d);
	if (!d->library_dir[0]) {
		fix_reinstall(finding_add(d, STATUS_WRONG,
			"the installation is incomplete: there is no ../lib/gangway next to this program"));
		return;
	}
	for (size_t i = 0; i < INSTALLED_FILES; i++) {
		snprintf(path, sizeof path, "%s/%s", d->library_dir, installed_files[i].file);
		bool there = build_note_read(path, text, sizeof text);

		if (there && !strcmp(text, build_note_text)) {
			n++;
		} else if (there) {
			if (!other)
				other = finding_add(d, STATUS_WRONG,
					"the libraries in %s and this program (%s) are from different builds",
					d->library_dir, build_note_text);
			finding_detail(other, "%s: %s", installed_files[i].file, text);
			fix_reinstall(other);
		}
	}
	for (size_t i = 0; i < INSTALLED_FILES; i++) {
		snprintf(path, sizeof path, "%s/%s", d->library_dir, installed_files[i].file);
		if (!build_note_read(path, text, sizeof text) && (installed_files[i].needed || !access(path, F_OK)))
			fix_reinstall(finding_add(d, STATUS_WRONG, "%s is %s", path,
				access(path, F_OK) ? "missing" : "not a file of Gangway"));
	}
	if (!doctor_is_wrong(d))
		finding_add(
			d, STATUS_FINE, "%u libraries of this build (%s) in %s", n, build_note_text, d->library_dir);
}

/* ---- the image cache of a server; same rules as server/code/image_store.c ---- */

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
		struct finding *f = finding_add(
			d, STATUS_LOOK, "neither XDG_CACHE_HOME nor HOME is set: gangway serve caches no images");
		finding_fix(f, "export HOME=~");
		return;
	}
	if (snprintf(outside, sizeof outside, "%s%s", d->sysroot.root, path) >= (int)sizeof outside ||
		lstat(outside, &st)) {
		finding_add(d, STATUS_FACT, "%s does not exist yet; gangway serve creates it", path);
		return;
	}
	if (S_ISLNK(st.st_mode) || !S_ISDIR(st.st_mode))
		finding_fix(finding_add(d, STATUS_LOOK, "%s is not a folder: gangway serve caches no images", path),
			"rm %s", path);
	else if (st.st_uid != geteuid())
		finding_fix(finding_add(d, STATUS_LOOK, "%s belongs to user %u: gangway serve caches no images there",
				    path, (unsigned)st.st_uid),
			"sudo chown -R $(id -u) %s", path);
	else if (st.st_mode & 077)
		finding_fix(finding_add(d, STATUS_LOOK,
				    "%s is accessible to other users (mode %o): gangway serve caches no images there",
				    path, st.st_mode & 0777),
			"chmod 700 %s", path);
	else if (!statvfs(outside, &fs))
		finding_add(d, STATUS_FINE, "%s, %s free", path,
			format_bytes((unsigned long long)fs.f_bavail * fs.f_frsize, room));
}
