/* Check that the user of the Ollama service can read our libraries and use the server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/doctor.h"
#include "cli/doctor/ollama/ollama.h"

struct service_user {
	bool known;
	unsigned uid, gid;
	char name[64];
};

/* Look up a user in the sysroot's /etc/passwd. */
static bool find_user(const struct sysroot *sys, const char *name, struct service_user *p)
{
	char *text = malloc(256 << 10), *save = NULL;
	size_t n = strlen(name);

	*p = (struct service_user){0};
	if (text && *name && sysroot_read(sys, "/etc/passwd", text, 256 << 10) > 0)
		for (char *line = strtok_r(text, "\n", &save); line && !p->known; line = strtok_r(NULL, "\n", &save))
			if (!strncmp(line, name, n) && line[n] == ':')
				p->known = sscanf(line + n, ":%*[^:]:%u:%u", &p->uid, &p->gid) == 2;
	free(text);
	snprintf(p->name, sizeof p->name, "%s", name);
	return p->known;
}

/* Is the user a member of the group, by /etc/group? */
static bool user_in_group(const struct sysroot *sys, const struct service_user *p, unsigned gid)
{
	char *text = malloc(256 << 10), *save = NULL, *inner = NULL;
	bool found = p->gid == gid;

	if (text && sysroot_read(sys, "/etc/group", text, 256 << 10) > 0)
		for (char *line = strtok_r(text, "\n", &save); line && !found; line = strtok_r(NULL, "\n", &save)) {
			unsigned id;
			char *members = strrchr(line, ':');
			if (!members || sscanf(line, "%*[^:]:%*[^:]:%u", &id) != 1 || id != gid)
				continue;
			for (char *m = strtok_r(members + 1, ",", &inner); m; m = strtok_r(NULL, ",", &inner))
				found = found || !strcmp(m, p->name);
		}
	free(text);
	return found;
}

static bool user_has_permission(
	const struct sysroot *sys, const struct service_user *p, const struct stat *st, unsigned bits)
{
	unsigned have = st->st_mode & 7;

	if (!p->uid)
		return true;
	if (st->st_uid == p->uid)
		have = st->st_mode >> 6 & 7;
	else if (user_in_group(sys, p, st->st_gid))
		have = st->st_mode >> 3 & 7;
	return (have & bits) == bits;
}

/* Find the first folder on the way to `path` that the user may not enter. */
static bool find_closed_folder(
	const struct sysroot *sys, const struct service_user *p, const char *path, char where[PATH_MAX])
{
	struct stat st;

	for (size_t n = 1; path[n - 1]; n++) {
		n += strcspn(path + n, "/");
		snprintf(where, PATH_MAX, "%.*s", (int)n, path);
		if (!stat(where, &st) && S_ISDIR(st.st_mode) && !user_has_permission(sys, p, &st, 1))
			return true;
		if (!path[n])
			break;
	}
	return false;
}

void ollama_check_user(struct doctor *d)
{
	const struct systemd_unit *u = &d->ollama->unit;
	const char *device = sysroot_env(&d->sysroot, "GANGWAY_DEVICE");
	char where[PATH_MAX], socket[2 * PATH_MAX];
	struct service_user p;
	struct stat st;
	struct finding *f;

	if (!u->file[0] || !find_user(&d->sysroot, u->user, &p))
		return;
	if (find_closed_folder(&d->sysroot, &p, d->library_dir, where)) {
		f = finding_add(d, STATUS_WRONG,
			"Ollama's user %s may not enter %s, so it cannot load Gangway's libraries in %s", p.name, where,
			d->library_dir);
		finding_fix(f, "sudo make install PREFIX=/usr/local  # in Gangway's source");
	} else if (u->protect_home &&
		   (!strncmp(d->library_dir, "/home/", 6) || !strncmp(d->library_dir, "/root/", 6))) {
		f = finding_add(d, STATUS_WRONG, "ProtectHome in %s hides Gangway's libraries in %s from Ollama",
			u->file, d->library_dir);
		finding_fix(f, "sudo make install PREFIX=/usr/local  # in Gangway's source");
	}
	if (!device || strncmp(device, "unix:", 5))
		return;
	snprintf(socket, sizeof socket, "%s%s", d->sysroot.root, device + 5);
	if (stat(socket, &st) || user_has_permission(&d->sysroot, &p, &st, 6))
		return;
	f = finding_add(d, STATUS_WRONG, "Ollama's user %s has no permission to use the server's socket %s (mode %o)",
		p.name, device + 5, st.st_mode & 0777);
	if (st.st_gid && (st.st_mode & 060) == 060)
		finding_fix(f, "sudo usermod -aG %u %s && sudo systemctl restart ollama", (unsigned)st.st_gid, p.name);
	else
		finding_fix(f, "gangway serve --group %s  # as the server's owner", p.name);
}
