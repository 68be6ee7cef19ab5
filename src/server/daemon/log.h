/* log.h - the daemon's log: one line an event, on stderr. */
#pragma once

void log_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where lines go from now on. */
void log_to(int fd);
