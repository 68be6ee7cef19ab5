#!/bin/sh
# sweep.sh BUILD SERVED TRANSPORT PROGRAM KIND SIDE: the n-th call of KIND fails, for each n, in the client or in the workers
# (sweep.c).  No run hangs or crashes, the server survives, and a worker that fails says so in the log.
kind=$5 side=$6 exhaust=$(dirname "$4")
here=$(dirname "$0")
. "$here/../remote/faults.sh"
FAIL_LIBRARY=$exhaust/libfail-calls.so FAIL_PAGE=$dir/page
export FAIL_LIBRARY FAIL_PAGE
head -c 4096 /dev/zero >"$FAIL_PAGE"
if [ "$transport" = here ]; then
	GANGWAY_DEVICE=$served "$exhaust/exhaust-sweep" "$kind" "$FAIL_PAGE" "$side" "$client" || fail "sweep of $kind"
	finish
fi
[ "$side" = server ] && export LD_PRELOAD="$FAIL_LIBRARY"
serve
unset LD_PRELOAD
"$exhaust/exhaust-sweep" "$kind" "$FAIL_PAGE" "$side" "$client" "$server" || fail "sweep of $kind"
alive "$server" || fail "the server has ended"
# libseccomp itself crashes now and then when it gets no memory; a worker enters the sandbox before it has a client.
crash='of client .* ended by signal\|Sanitizer'
logged "$crash" && fail "a worker has crashed: $(grep "$crash" "$dir/log")"
[ $failed = 0 ] || tail -n 50 "$dir/log"
exit $failed # a worker without memory may end with a status
