/* Run ldconfig and systemctl after files were written or removed. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/install/plan.h"
#include "cli/install/refresh.h"
#include "loader/ldcache.h"

static int run_command(char *const *argv)
{
	char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
	int status = 0, r;
	pid_t pid;

	r = posix_spawn(&pid, argv[0], NULL, NULL, argv, env);
	if (r)
		return r;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return status ? -1 : 0;
}

int refresh_loader(struct tree *t)
{
	/* -X: keep all links unchanged, those in a vendor's folder above all */
	char *here[] = {"/sbin/ldconfig", "-X", NULL}, *there[] = {"/sbin/ldconfig", "-X", "-r", (char *)t->root, NULL};
	int r = run_command(strcmp(t->root, "/") ? there : here);

	if (!r)
		return 0;
	return cli_fail("ldconfig failed%s%s, so the loader's cache is unchanged. Run ldconfig -X%s%s",
		r > 0 ? ": " : "", r > 0 ? strerror(r) : "", strcmp(t->root, "/") ? " -r " : "",
		strcmp(t->root, "/") ? t->root : "");
}

bool refresh_has_systemd(struct tree *t)
{
	return !strcmp(t->root, "/") && !access("/run/systemd/system", F_OK);
}

void refresh_systemd(struct tree *t)
{
	char *reload[] = {"/usr/bin/systemctl", "daemon-reload", NULL};

	if (refresh_has_systemd(t) && run_command(reload))
		cli_fail("systemctl daemon-reload failed, so systemd does not know the new units. Run it again");
}

void loader_cache_lookup(struct tree *t, const char *name, char *path, size_t size)
{
	char file[PATH_MAX + 32];
	struct ldcache cache;
	struct ldcache_entry e;
	uint32_t at = 0;

	path[0] = 0;
	snprintf(file, sizeof file, "%s" LD_CACHE, t->root);
	if (ldcache_open(&cache, file))
		return;
	while (!*path && ldcache_next(&cache, &at, &e))
		if (ldcache_native(&e) && !strcmp(e.name, name))
			snprintf(path, size, "%s", e.path);
	ldcache_close(&cache);
}
