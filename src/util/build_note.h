/*
 * note.h - the ELF note that every library and program of ours carries: who built it from what.
 *
 * It tells our libcuda.so.1 from a vendor's wherever the file lies and whatever it is called.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NOTE_OWNER "Gangway" /* eight bytes with its end, which need no padding */
#define NOTE_STUB  " stub"   /* how the text of a stub library ends */

/* "gangway 0.1.0 a1b2c3d api 0f1e2d3c": version, commit, the descriptions of the interfaces. */
extern const char note_build[];

/* The text in the note of the ELF file at `path`; false: no ELF file, or not ours.  The file is not trusted. */
bool note_read(const char *path, char *text, size_t size);
