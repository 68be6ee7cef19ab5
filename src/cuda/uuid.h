/* uuid.h - the UUID of a device as text. */
#pragma once

#define UUID_TEXT 41

/* Write "GPU-8a1c...": 40 characters and a NUL. */
void uuid_text(const unsigned char uuid[16], char text[UUID_TEXT]);
