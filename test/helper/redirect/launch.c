/* Start a program with a new environment that has only LD_LIBRARY_PATH: launch DIR PROGRAM [ARGUMENTS] */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char path[4096];
	char *env[] = {path, NULL};

	if (argc < 3)
		return 2;
	snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", argv[1]);
	execve(argv[2], argv + 2, env);
	perror(argv[2]);
	return 126;
}
