/* files.h - what our audit libraries are called: base.h says what they do. */
#pragma once

#define AUDIT_REDIRECT "libgangway-audit.so"
#define AUDIT_FOLLOW   "libgangway-follow.so"
