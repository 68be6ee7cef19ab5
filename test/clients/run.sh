#!/bin/sh
# Run a client with libraries from wheels: run.sh GANGWAY CLIENT LIBRARY PACKAGE==VERSION... [-- ARGUMENTS]
#
# LIBRARY is the SONAME that the client opens; the packages contain it and its dependencies. Exits with 77 if a package is
# not available. DEVICE is the device; default null.
gangway=$1
client=$2
library=$3
shift 3
here=$(dirname "$0")
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	dir=$("$here/../helper/wheels.sh" "${1%%==*}" "${1##*==}") || exit
	LD_LIBRARY_PATH=$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	shift
done
[ "$1" = -- ] && shift
export LD_LIBRARY_PATH
if [ "${DEVICE:-null}" = null ]; then
	GANGWAY_NULL_LOG=$(mktemp) || exit 1
	export GANGWAY_NULL_LOG
	trap 'rm -f "$GANGWAY_NULL_LOG"' EXIT
fi
"$gangway" run --on "${DEVICE:-null}" -- "$client" "$library" "$@"
