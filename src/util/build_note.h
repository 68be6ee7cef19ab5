/*
 * build_note.h - the ELF note in every library and program of ours, which names its build.
 *
 * The note distinguishes our libcuda.so.1 from a vendor's, whatever its path and name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BUILD_NOTE_OWNER "Gangway" /* eight bytes with the NUL: needs no padding */
#define BUILD_NOTE_STUB  " stub"   /* end of the text of a stub library */

/* The note of this file: "gangway 0.1.0 a1b2c3d api 0f1e2d3c" (version, commit, hash of the interface descriptions). */
extern const char build_note_text[];

/* Read the note of an untrusted file. Returns false if the file is not ELF or not ours. */
bool build_note_read(const char *path, char *text, size_t size);
