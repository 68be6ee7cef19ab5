#!/bin/sh
# The messages of gangway run for code that cannot run: explain.sh GANGWAY PROGRAM
said=$("$1" run --on cpu -- "$2" 2>&1) || { echo "$said"; exit 1; }
echo "$said"
case $said in
*'kernel k cannot run: line 6: multimem.red.u32 '*) ;;
*) echo "FAIL: the message lacks the line or the instruction"; exit 1 ;;
esac
said=$("$1" run --on cpu -- "$2" image 2>&1) || { echo "$said"; exit 1; }
case $said in
*'compute capability 8.0): it needs PTX, but the image has cubin sm_90, PTX '*' compute_120.  Kernels: axpy.  Build with nvcc -gencode arch=compute_80,'*'; or set GANGWAY_CPU_CC=12.0'*) ;;
*) echo "FAIL: the message lacks the contents of the image, or what to do: $said"; exit 1 ;;
esac
case $(GANGWAY_WATCHDOG_MS=soon "$1" run --on cpu -- "$2" 2>&1) in
*'no device: GANGWAY_WATCHDOG_MS=soon is invalid: set a number'*) ;;
*) echo "FAIL: the message does not name the invalid setting"; exit 1 ;;
esac
[ -z "$(GANGWAY_EXPLAIN=0 "$1" run --on cpu -- "$2" 2>&1)" ] ||
	{ echo "FAIL: GANGWAY_EXPLAIN=0 does not silence the message"; exit 1; }
