/* What the null device says of itself. */
#include "backend/null/null.h"

#include <stdio.h>

void null_describe(int ordinal, struct engine_device *dev)
{
	(void)ordinal;
	snprintf(dev->name, sizeof dev->name, "Gangway null device");
	/* As large as a GPU of that kind: libraries plan their launches by it, and fail where hardly anything
	 * fits. */
	dev->major = 9;
	dev->minor = 0;
	dev->multiprocessors = 132;
}
