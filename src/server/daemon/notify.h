/* notify.h - the systemd notification protocol (sd_notify). */
#pragma once

/* Sends "READY=1", "STATUS=..." and the like; does nothing without NOTIFY_SOCKET. */
void systemd_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));
