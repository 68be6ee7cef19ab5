/* report.h - count the mapped files called libcuda.so*: ours and others. */
#pragma once

#include <stdio.h>
#include <string.h>

static int report(int version)
{
	char line[8192], *path;
	int ours = 0, decoy = 0;
	unsigned long long at;
	FILE *maps = fopen("/proc/self/maps", "r");

	/* Each load of a file maps offset 0 exactly once. */
	while (maps && fgets(line, sizeof line, maps)) {
		path = strchr(line, '/');
		if (!path || !strstr(path, "/libcuda.so") || sscanf(line, "%*s %*s %llx", &at) != 1 || at)
			continue;
		if (strstr(path, "/lib/gangway/"))
			ours++;
		else
			decoy++;
	}
	if (maps)
		fclose(maps);
	printf("ours %d decoy %d version %d\n", ours, decoy, version);
	return 0;
}
