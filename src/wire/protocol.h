/* protocol.h - the version of the protocol: two builds with the same number understand each other. */
#pragma once

#include <stdint.h>

/* Made of the hash of api/cuda.api and the version of the messages in this folder. */
uint64_t wire_protocol(void);
