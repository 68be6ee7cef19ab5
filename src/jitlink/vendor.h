/*
 * vendor.h - NVIDIA's nvJitLink, for LTO-IR only: it compiles LTO-IR to PTX, which is then linked like other PTX.
 *
 * The application asked for this library and got ours, so the path that it used is unknown. NVIDIA's libraries lie
 * together: the search covers the folders of those that the process has loaded, then the toolkit's folder.
 */
#pragma once

#include "jitlink/jitlink.h"

struct vendor_link;

/* Opens a link with the options of ours, and "-ptx". NULL: the library was not found, or refuses; the log has the reason. */
struct vendor_link *vendor_open(struct jitlink *l, uint32_t n, const char *const *options);
nvJitLinkResult vendor_add(struct vendor_link *v, struct jitlink *l, const void *data, size_t size, const char *name);
/* Compiles what was added; *ptx is malloc'ed and NUL-terminated. */
nvJitLinkResult vendor_complete(struct vendor_link *v, struct jitlink *l, char **ptx, size_t *size);
void vendor_close(struct vendor_link *v); /* NULL is fine */
