/*
 * per_thread.h - how a per-thread twin (cuMemcpy_ptds) tells the function behind it that "the
 * default stream" means the calling thread's own.
 *
 * Twins that take a stream hand over CU_STREAM_PER_THREAD instead; this is for the others.
 */
#pragma once

extern __thread int per_thread_default __attribute__((tls_model("initial-exec")));
