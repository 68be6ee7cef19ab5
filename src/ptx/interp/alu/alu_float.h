/*
 * alu_float.h - helpers for kernels on floats: canonical NaNs, saturation, flushing.
 */
#pragma once

#include "ptx/interp/alu/alu.h"

/* The canonical NaNs. */
#define NAN_f32 0x7fffffffu
#define NAN_f64 0xfff8000000000000ull

static inline f32 canon_f32(f32 r)
{
	return r != r ? bits_f32(NAN_f32) : r;
}

static inline f64 canon_f64(f64 r)
{
	return r != r ? bits_f64(NAN_f64) : r;
}

/* .sat: limits to 0..1; a NaN becomes +0. */
static inline f32 saturate_f32(f32 r)
{
	r = r > 0.0f ? r : 0.0f;
	return r < 1.0f ? r : 1.0f;
}

/* A subnormal becomes a zero of its sign. */
static inline u32 flush_u32(u32 v)
{
	return v & 0x7f800000 ? v : v & 0x80000000;
}

static inline f32 flush_f32(f32 v)
{
	return bits_f32(flush_u32(f32_bits(v)));
}
