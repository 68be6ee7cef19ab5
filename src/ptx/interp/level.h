/*
 * level.h - names of code that is compiled once for each instruction set (ALU_LEVEL in CMakeLists.txt).
 *
 * LEVEL(alu_int) is alu_int_base, alu_int_avx2 or alu_int_avx512.  alu_select.c chooses at run time.
 */
#pragma once

#ifndef ALU_LEVEL
#define ALU_LEVEL base
#endif
#define LEVEL_NAME_(name, level) name##_##level
#define LEVEL_NAME(name, level)  LEVEL_NAME_(name, level)
#define LEVEL(name)              LEVEL_NAME(name, ALU_LEVEL)
