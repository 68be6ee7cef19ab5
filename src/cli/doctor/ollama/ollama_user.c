/* ollama_user.c - a service has a user of its own: may that one come to our libraries, and to the server? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/doctor.h"
#include "cli/doctor/ollama/ollama.h"

struct person {
	bool known;
	unsigned uid, gid;
	char name[64];
};

/* The world's own lists: the service's user may not be known here. */
static bool find_person(const struct sysroot *sys, const char *name, struct person *p)
{
	char *text = malloc(256 << 10), *save = NULL;
	size_t n = strlen(name);

	*p = (struct person){0};
	if (text && *name && sysroot_read(sys, "/etc/passwd", text, 256 << 10) > 0)
		for (char *line = strtok_r(text, "\n", &save); line && !p->known; line = strtok_r(NULL, "\n", &save))
			if (!strncmp(line, name, n) && line[n] == ':')
				p->known = sscanf(line + n, ":%*[^:]:%u:%u", &p->uid, &p->gid) == 2;
	free(text);
	snprintf(p->name, sizeof p->name, "%s", name);
	return p->known;
}

/* Is the person a member of the group, by /etc/group? */
static bool in_group(const struct sysroot *sys, const struct person *p, unsigned gid)
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

static bool may(const struct sysroot *sys, const struct person *p, const struct stat *st, unsigned bits)
{
	unsigned have = st->st_mode & 7;

	if (!p->uid)
		return true;
	if (st->st_uid == p->uid)
		have = st->st_mode >> 6 & 7;
	else if (in_group(sys, p, st->st_gid))
		have = st->st_mode >> 3 & 7;
	return (have & bits) == bits;
}

/* The first folder on the way to `path`, outside, that the person may not pass. */
static bool barred(const struct sysroot *sys, const struct person *p, const char *path, char where[PATH_MAX])
{
	struct stat st;

	for (size_t n = 1; path[n - 1]; n++) {
		n += strcspn(path + n, "/");
		snprintf(where, PATH_MAX, "%.*s", (int)n, path);
		if (!stat(where, &st) && S_ISDIR(st.st_mode) && !may(sys, p, &st, 1))
			return true;
		if (!path[n])
			break;
	}
	return false;
}

void ollama_check_user(struct doctor *d)
{
	const struct unit *u = &d->ollama->unit;
	const char *device = sysroot_env(&d->sysroot, "GANGWAY_DEVICE");
	char where[PATH_MAX], socket[2 * PATH_MAX];
	struct person p;
	struct stat st;
	struct finding *f;

	if (!u->file[0] || !find_person(&d->sysroot, u->user, &p))
		return;
	if (barred(&d->sysroot, &p, d->ours, where)) {
		f = say(d, WRONG, "Ollama's user, %s, may not pass %s, and so not come to Gangway's libraries in %s",
			p.name, where, d->ours);
		fix(f, "sudo make install PREFIX=/usr/local  # in Gangway's source");
	} else if (u->protect_home && (!strncmp(d->ours, "/home/", 6) || !strncmp(d->ours, "/root/", 6))) {
		f = say(d, WRONG, "ProtectHome in %s hides Gangway's libraries in %s from Ollama", u->file, d->ours);
		fix(f, "sudo make install PREFIX=/usr/local  # in Gangway's source");
	}
	if (!device || strncmp(device, "unix:", 5))
		return;
	snprintf(socket, sizeof socket, "%s%s", d->sysroot.root, device + 5);
	if (stat(socket, &st) || may(&d->sysroot, &p, &st, 6))
		return;
	f = say(d, WRONG, "Ollama's user, %s, may not use the server's socket %s (mode %o)", p.name, device + 5,
		st.st_mode & 0777);
	if (st.st_gid && (st.st_mode & 060) == 060)
		fix(f, "sudo usermod -aG %u %s && sudo systemctl restart ollama", (unsigned)st.st_gid, p.name);
	else
		fix(f, "gangway serve --group %s  # as the server's owner", p.name);
}
