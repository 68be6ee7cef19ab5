/* log.h - the log of parent and workers: one line for each event, on stderr. */
#pragma once

void log_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Log to this descriptor from now on. */
void log_to(int fd);
