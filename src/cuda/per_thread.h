/*
 * per_thread.h - set by a per-thread twin (cuMemcpy_ptds) while it calls the function behind it: the default stream is
 * then the calling thread's own.
 *
 * Twins of calls with a stream argument pass CU_STREAM_PER_THREAD instead.
 */
#pragma once

extern __thread int per_thread_default __attribute__((tls_model("initial-exec")));
