/* The note itself, in every library and program of ours. A stub says that it is one. */
#include <stdint.h>
#include "gen/version.h"
#include "util/build_note.h"

#ifndef NOTE_KIND
#define NOTE_KIND ""
#endif
#define BUILD "gangway " GANGWAY_VERSION " " GANGWAY_COMMIT " api " GANGWAY_API NOTE_KIND

static const struct {
	uint32_t owner_size, text_size, type;
	char owner[sizeof NOTE_OWNER];
	char text[(sizeof BUILD + 3) & ~3u];
} note __attribute__((section(".note.gangway"), aligned(4), used)) = {
	sizeof NOTE_OWNER,
	(sizeof BUILD + 3) & ~3u,
	1,
	NOTE_OWNER,
	BUILD,
};

const char note_build[] = BUILD;
