#!/bin/sh
# Runs a program on a device behind `gangway serve`: through.sh BUILD SERVED TRANSPORT PROGRAM [ARGUMENTS]
# SERVED is null or cpu, TRANSPORT is unix or tcp. The program's exit status is the test's.
build=$1 served=$2 transport=$3
shift 3
dir=$(mktemp -d) || exit 1
: >"$dir/log"
export XDG_CACHE_HOME="$dir/cache"
address=unix:$dir/socket
[ "$transport" = tcp ] && address=tcp://127.0.0.1:0
"$build/bin/gangway" serve --on "$served" --listen "$address" 2>"$dir/log" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$dir"' EXIT
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	address=$(sed -n 's/.*listening on //p' "$dir/log")
	[ -n "$address" ] && break
	sleep 0.1
done
"$build/bin/gangway" run --on "$address" -- "$@"
status=$?
[ $status -eq 0 ] || [ $status -eq 77 ] || sed 's/^/server: /' "$dir/log" >&2
exit $status
