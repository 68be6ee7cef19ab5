#!/bin/sh
# descriptors.sh BUILD SERVED TRANSPORT PROGRAM: a client without descriptors (descriptors.c), with the reason in its trace.
. "$(dirname "$0")/../remote/faults.sh"
serve
GANGWAY_TRACE=1 "$client" 2>"$dir/trace" || fail "$client returned $?: $(cat "$dir/trace")"
grep -q 'Too many open files' "$dir/trace" || fail "the trace does not give the reason"
logged 'violated the protocol' && fail "the server reports a protocol error"
finish
