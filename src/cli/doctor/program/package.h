/*
 * package.h - prebuilt packages (wheels, node modules, vendors' libraries): their users cannot rebuild them, but can install
 * another version or choose another device.
 */
#pragma once

#include <stdbool.h>

struct doctor;

/* Is this file part of a prebuilt package? */
bool package_is_prebuilt(const char *name, const char *path);

/* The package that the file belongs to, from its path: "torch"; "" if unknown. Returns `name`. */
const char *package_name(const char *path, char name[64]);

/* Report the package of this loaded file if it was built without CUDA. Returns true if so. */
bool package_check_cpu_only(struct doctor *d, const char *path);
