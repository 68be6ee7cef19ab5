#!/bin/sh
# Run a program with our runtime, whatever runtimes this machine has: run.sh GANGWAY FOLDER PROGRAM [ARGUMENTS]
#
# FOLDER contains our libcudart.so.N. DEVICE is the device; default null.
gangway=$1
LD_LIBRARY_PATH=$2${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
shift 2
if [ "${DEVICE:-null}" = null ]; then
	GANGWAY_NULL_LOG=$(mktemp) || exit 1
	export GANGWAY_NULL_LOG
	trap 'rm -f "$GANGWAY_NULL_LOG"' EXIT
fi
"$gangway" run --on "${DEVICE:-null}" -- "$@"
