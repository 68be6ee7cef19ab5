/* protocol.h - what two builds must have in common to understand each other. */
#pragma once

#include <stdint.h>

/* A number made of api/cuda.api's hash and of our own messages' version. */
uint64_t wire_protocol(void);
