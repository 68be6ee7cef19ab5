/* Open each argument and print the loaded file: "NAME -> FILE" or "NAME -> -". @NAME uses a new namespace. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct link_map *map = NULL;
		void *library =
			argv[i][0] == '@' ? dlmopen(LM_ID_NEWLM, argv[i] + 1, RTLD_LAZY) : dlopen(argv[i], RTLD_LAZY);

		if (library)
			dlinfo(library, RTLD_DI_LINKMAP, &map);
		printf("%s -> %s\n", argv[i], map ? map->l_name : "-");
	}
	return 0;
}
