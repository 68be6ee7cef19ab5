/* Constant tables for loops over lanes. */
#include "ptx/interp/warp.h"

#define R4(T, n) (T)1 << (n), (T)1 << ((n) + 1), (T)1 << ((n) + 2), (T)1 << ((n) + 3)
#define R32(T)   R4(T, 0), R4(T, 4), R4(T, 8), R4(T, 12), R4(T, 16), R4(T, 20), R4(T, 24), R4(T, 28)

const uint32_t lane_bit32[LANES] __attribute__((aligned(64))) = {R32(uint32_t)};
const uint64_t lane_bit64[LANES] __attribute__((aligned(64))) = {R32(uint64_t)};
