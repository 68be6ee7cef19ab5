/* notify.h - what systemd is told, if it started us: ready, stopping, and how many clients there are. */
#pragma once

/* "READY=1", "STATUS=..."; nothing happens without NOTIFY_SOCKET. */
void notify(const char *format, ...) __attribute__((format(printf, 1, 2)));
