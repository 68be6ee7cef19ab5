#!/bin/sh
# The memory of one client is not visible to the next one, whether the first ends, dies, or still runs.
# tenants.sh BUILD SERVED TRANSPORT TENANTS
. "$(dirname "$0")/faults.sh"
serve $SERVE_ALSO
look() { timeout 100 "$client" look >"$dir/look.out" 2>&1 || fail "$1: $(cat "$dir/look.out")"; }
hold first fill
look "while the other client runs"
release
wait "$held" || fail "the client that fills memory failed: $(cat "$dir/first.out")"
look "after the other client has ended"
hold second fill
kill -9 "$held"
exec 9>&-
wait "$held" 2>/dev/null
look "after the other client has died"
hold third fill
kill -9 "$(worker_of "$held")"
until_true 60 logged 'ended by signal 9' || fail "the log does not report the killed worker"
look "after the other client's worker has died"
exec 9>&-
wait "$held" 2>/dev/null
kill "$server"
wait "$server"
finish
