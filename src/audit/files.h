/* files.h - the file names of our audit libraries; see base.h. */
#pragma once

#define AUDIT_REDIRECT "libgangway-audit.so"
#define AUDIT_FOLLOW   "libgangway-follow.so"
