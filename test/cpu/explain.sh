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
*'compute capability 8.0): it needs PTX, but the image has cubin sm_90 sm_100.  Kernels: axpy.  Build with nvcc -gencode arch=compute_80,'*) ;;
*) echo "FAIL: the message lacks the contents of the image, or what to do: $said"; exit 1 ;;
esac
leaves() {
	said=$("$gangway" run --on cpu -- "$program" "$1" 2>&1) || { echo "$said"; exit 1; }
	case $said in
	*"$2"*"$3"*) ;;
	*) echo "FAIL: the message for $1 lacks '$2' or '$3': $said"; exit 1 ;;
	esac
}
gangway=$1 program=$2
leaves past 'kernel past failed: rows.cu:42 (line 8 of the PTX): st of 4 bytes at 0x' '(4 bytes past the end of an allocation of 4096 bytes at 0x'
leaves before 'kernel before failed: line 12: st of 4 bytes at 0x' '(8 bytes before an allocation of 4096 bytes at 0x'
leaves shared 'kernel shared failed: line 15: st of 4 bytes at 0x1000 ' '(the block has 16 bytes of shared memory), block (0,0,0), thread (0,0,0)'
leaves misaligned 'kernel misaligned failed: line 18: st of 4 bytes at 0x' '(misaligned), block'
case $(GANGWAY_WATCHDOG_MS=soon "$1" run --on cpu -- "$2" 2>&1) in
*'no device: GANGWAY_WATCHDOG_MS=soon is invalid: set a number'*) ;;
*) echo "FAIL: the message does not name the invalid setting"; exit 1 ;;
esac
[ -z "$(GANGWAY_EXPLAIN=0 "$1" run --on cpu -- "$2" 2>&1)" ] ||
	{ echo "FAIL: GANGWAY_EXPLAIN=0 does not silence the message"; exit 1; }
