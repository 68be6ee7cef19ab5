/* The build note itself, linked into every library and program of ours. The note of a stub ends in NOTE_KIND. */
#include <stdint.h>
#include "gen/version.h"
#include "util/build_note.h"

#ifndef NOTE_KIND
#define NOTE_KIND ""
#endif
#define BUILD "gangway " GANGWAY_VERSION " " GANGWAY_COMMIT " api " GANGWAY_API NOTE_KIND

static const struct {
	uint32_t owner_size, text_size, type;
	char owner[sizeof BUILD_NOTE_OWNER];
	char text[(sizeof BUILD + 3) & ~3u];
} note __attribute__((section(".note.gangway"), aligned(4), used)) = {
	sizeof BUILD_NOTE_OWNER,
	(sizeof BUILD + 3) & ~3u,
	1,
	BUILD_NOTE_OWNER,
	BUILD,
};

const char build_note_text[] = BUILD;
