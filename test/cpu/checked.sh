#!/bin/sh
# The reports of gangway run --check: checked.sh GANGWAY PROGRAM
gangway=$1 program=$2
unset GANGWAY_DEVICE GANGWAY_CHECK

fail() {
	echo "FAIL: $1: $2"
	exit 1
}

# reports MODE STATUS TEXT...: the program ends with the status, and prints all texts
reports() {
	mode=$1 want=$2
	shift 2
	said=$("$gangway" run "--check${list:+=$list}" -- "$program" "$mode" 2>&1)
	status=$?
	[ $status = "$want" ] || fail "$mode" "status $status, not $want: $said"
	for text; do
		case $said in
		*"$text"*) ;;
		*) fail "$mode" "no '$text' in: $said" ;;
		esac
	done
}

reports clean 0 'gangway check: no errors'
reports past 86 'gangway check: invalid write of 4 bytes in global memory' \
	', directly past the end of an allocation of 256 bytes at 0x' 'in kernel past, rows.cu:42 (line 10 of the PTX)' \
	'by thread (63,0,0) of block (0,0,0)' 'invalid accesses: 1 instruction, 1 time'
reports before 86 'invalid read of 8 bytes in global memory' '8 bytes before the start of an allocation of 256 bytes' \
	'1 instruction, 64 times'
reports odd 86 'misaligned atomic operation of 4 bytes in global memory' 'offset 2 in an allocation of 256 bytes'
reports variable 86 'invalid write of 4 bytes in shared memory' 'directly past the end of the variable a of 64 bytes' \
	'1 instruction, 48 times'
reports dynamic 86 'directly past the end of the variable dyn of 128 bytes' '1 instruction, 32 times'
reports local 86 'invalid write of 4 bytes in local memory' 'the variable depot of 32 bytes'
reports global 86 'invalid read of 4 bytes in global memory' 'the variable table of 64 bytes'
# Both instructions of the kernel are reported: the first error does not end it.
reports freed 86 'invalid read of' 'invalid write of' 'offset 0 in an allocation of 256 bytes at 0x' 'that was freed' \
	'invalid accesses: 2 instructions, 128 times'
reports uninitialized 86 'read of 4 uninitialized bytes in global memory' 'offset 0 in an allocation of 256 bytes'
reports unset 86 'read of 4 uninitialized bytes in shared memory' 'at offset 12 in the variable s'
reports race 86 'race in shared memory: read of 4 bytes after a write by another thread' \
	'the earlier write, line 31 of the PTX, by thread (31,0,0)'
reports warp_race 86 'race in shared memory: read of 4 bytes after a write' 'the earlier write, line 41 of the PTX, by'

list=memory
reports race 0 'no errors'
reports uninitialized 0 'no errors'
list=leaks,init
reports race 86 'uninitialized' 'gangway check: leak of 256 bytes of device memory at 0x' '1 leak of 256 bytes'
reports clean 0 'no errors'
list=all
reports past 86 'invalid write' '1 leak of 256 bytes'
list=everything
reports clean 1 'GANGWAY_CHECK=everything is invalid'
list=

# Without the option, nothing is checked.
said=$(GANGWAY_DEVICE=cpu "$gangway" run -- "$program" race 2>&1) || fail race "status $?: $said"
[ -z "$said" ] || fail race "reports without the option: $said"
said=$("$gangway" run --on null --check -- "$program" race 2>&1) && fail "--on null" "it is accepted"
case $said in
*'--check needs the device cpu'*) ;;
*) fail "--on null" "$said" ;;
esac
exit 0
