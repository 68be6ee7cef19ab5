/* Close the descriptor of the log, open a file that gets the same number, and load libraries: reuse_descriptor FILE */
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || close(5))
		return 1;
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || dup2(fd, 5) != 5)
		return 1;
	dlopen("libcuda.so.1", RTLD_LAZY);
	dlopen("/nosuch/libx.so.1", RTLD_LAZY);
	return write(5, "mine\n", 5) != 5;
}
