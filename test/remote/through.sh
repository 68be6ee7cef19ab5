#!/bin/sh
# Runs a program on a device behind `gangway serve`: through.sh BUILD SERVED TRANSPORT PROGRAM [ARGUMENTS]
# SERVED is null or cpu, TRANSPORT is unix or tcp.  Exits with the program's status, or with 1 if the server log reports an
# error.
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
tenths=600
while address=$(sed -n 's/.*listening on //p' "$dir/log"); [ -z "$address" ]; do
	tenths=$((tenths - 1))
	if [ $tenths = 0 ] || ! kill -0 $server 2>/dev/null; then
		echo "the server does not start: $(cat "$dir/log")"
		exit 1
	fi
	sleep 0.1
done
"$build/bin/gangway" run --on "$address" -- "$@"
status=$?
kill $server
wait $server || status=1
grep -q 'was ended by signal\|exit status\|Sanitizer\|runtime error' "$dir/log" && status=1
[ $status -eq 0 ] || [ $status -eq 77 ] || sed 's/^/server: /' "$dir/log"
exit $status
