#include "cli/system/system.h"

#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/cli.h"

extern char **environ;

int system_options(const char *command, int argc, char **argv, struct system_request *q)
{
	static const struct option options[] = {
		{"system", no_argument, NULL, 's'}, {"root", required_argument, NULL, 'r'}, {"yes", no_argument, NULL, 'y'},
		{"help", no_argument, NULL, 'h'},   {0},
	};
	int c;

	q->root = "/";
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1)
		switch (c) {
		case 's':
			q->system = true;
			break;
		case 'r':
			q->root = optarg;
			break;
		case 'y':
			q->yes = true;
			break;
		case 'h':
			q->help = true;
			break;
		case ':':
			return cli_usage(command, "%s needs a value", argv[optind - 1]);
		default:
			return cli_usage(command, "there is no option %s", argv[optind - 1]);
		}
	if (optind < argc)
		return cli_usage(command, "what is %s for?", argv[optind]);
	return 0;
}

static int run(char *const argv[])
{
	int status = 0;
	pid_t pid;
	int err = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

	if (err)
		return err;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -1;
}

int system_ldconfig(const char *root)
{
	static const char *const places[] = {"/sbin/ldconfig", "/usr/sbin/ldconfig"};
	const char *program = access(places[0], X_OK) ? places[1] : places[0];
	char *argv[] = {(char *)program, "-r", (char *)root, NULL};
	int r;

	if (!strcmp(root, "/"))
		argv[1] = NULL;
	r = run(argv);
	if (r)
		return cli_fail("%s failed%s%s: run it yourself, or the loader does not know yet", program, r > 0 ? ": " : "",
			r > 0 ? strerror(r) : "");
	return 0;
}

void system_reload(const char *root)
{
	char *argv[] = {"systemctl", "daemon-reload", NULL};

	if (!strcmp(root, "/") && !access("/run/systemd/system", F_OK))
		run(argv);
}

int system_fail(int err, const char *root, const char *path)
{
	const char *below = !strcmp(root, "/") ? "" : root;

	switch (err) {
	case -ELOOP:
		return cli_fail("%s%s: a symbolic link, or something that is no folder, is in the way, and Gangway does not "
				"write through it",
			below, path);
	case -EEXIST:
		return cli_fail("%s%s is there already and not ours: move it away if you do not need it", below, path);
	case -EACCES:
	case -EPERM:
		return cli_fail("%s%s: %s. Only root may do this: sudo gangway ...", below, path, strerror(-err));
	default:
		return cli_fail("%s%s: %s", below, path, strerror(-err));
	}
}
