#!/bin/sh
# Check one program in one situation: run.sh GANGWAY FOLDER MODE SITUATION
#
# Without gangway run, the program loads the decoy once. Under gangway run, it loads our library once and no decoy.
gangway=$1
out=$2
mode=$3
situation=$4
helper=$(cd "$(dirname "$0")/../helper/redirect" && pwd)
decoy=$out/decoy
unset LD_LIBRARY_PATH LD_AUDIT LD_PRELOAD GANGWAY_FOLLOW GANGWAY_KEEP GANGWAY_AUDIT_LOG
LD_LIBRARY_PATH=
[ "$mode" = shared ] && LD_LIBRARY_PATH=${CUDA_HOME:-/usr/local/cuda}/lib64 # this folder has no libcuda.so.1

# Set "$@" to the command.
if [ "$mode" = python ]; then
	python=$(command -v python3) || { echo "skipped: no python3"; exit 77; }
	python=$("$python" -c 'import sys, ctypes; print(sys.executable)' 2>/dev/null) || { echo "skipped: python3 has no ctypes"; exit 77; }
	case $situation in
	rpath | runpath | origin) set -- "$python" "$helper/probe.py" "$out/$situation/linked.so" ;;
	absolute) set -- "$python" "$helper/probe.py" "$decoy/libcuda.so.1" ;;
	exec) set -- "$python" "$helper/launch.py" "$decoy" "$python" "$helper/probe.py" libcuda.so.1 ;;
	dlmopen) set -- "$python" "$helper/probe.py" --space libcuda.so.1 ;;
	dlmopen-path) set -- "$python" "$helper/probe.py" --space "$decoy/libcuda.so.1" ;;
	*) set -- "$python" "$helper/probe.py" libcuda.so.1 ;;
	esac
else
	[ -e "$out/plain/$mode" ] || { echo "skipped: no CUDA toolkit to link $mode with"; exit 77; }
	case $situation in
	rpath | runpath | origin | absolute) set -- "$out/$situation/$mode" ;;
	exec) set -- "$out/launch" "$decoy:$LD_LIBRARY_PATH" "$out/plain/$mode" ;;
	dlmopen) set -- "$out/space" "$out/dlmopen/$mode.so" ;;
	dlmopen-path) set -- "$out/space" "$decoy/libcuda.so.1" ;;
	dlmopen-got) set -- "$out/space-got" "$decoy/libcuda.so.1" ;;
	*) set -- "$out/plain/$mode" ;;
	esac
fi
# Set the place where the program finds the decoy.
case $situation in
plain | dlmopen) LD_LIBRARY_PATH=$decoy:$LD_LIBRARY_PATH ;;
front | dlmopen-path | dlmopen-got) set -- sh -c "LD_LIBRARY_PATH=$decoy:\$LD_LIBRARY_PATH; export LD_LIBRARY_PATH; exec \"\$@\"" sh "$@" ;;
esac
export LD_LIBRARY_PATH

failed=0
expect() { # case, output, text that the output must contain
	case $2 in
	*"$3"*) ;;
	*) echo "FAIL: $mode, $situation, $1: got: $2; expected: $3"; failed=1 ;;
	esac
}
expect "without gangway run" "$("$@" 2>&1)" "ours 0 decoy 1 version"
said=$("$gangway" run --on null -- "$@" 2>&1)
expect "gangway run" "$said" "ours 1 decoy 0 version 13000"
exit $failed
