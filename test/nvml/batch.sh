#!/bin/sh
# The queries of a poll go to the server as a batch (backend/nvml/sensor_poll.h): far fewer round trips, and the same answers.
# batch.sh BUILD SERVED TRANSPORT MONITOR
. "$(dirname "$0")/../remote/faults.sh"
export LD_LIBRARY_PATH="$build/lib/gangway" GANGWAY_DEVICE_COUNT=2
polls=50
serve
# watch NAME: runs the monitor; its output is in $dir/NAME, its calls in $calls, the server's calls in $served_calls.
watch() {
	before=$(grep -c ' calls, ' "$dir/log")
	timeout 120 "$client" $polls >"$dir/$1" 2>"$dir/err" || { fail "the monitor failed: $(cat "$dir/err")"; finish; }
	calls=$(sed -n 's/^\([0-9]*\) calls$/\1/p' "$dir/err")
	until_true 60 more_than "$before" || fail "the server's log does not count the calls"
	served_calls=$(sed -n 's/.* and \([0-9]*\) calls, .*/\1/p' "$dir/log" | tail -n 1)
}
more_than() { [ "$(grep -c ' calls, ' "$dir/log")" -gt "$1" ]; }

GANGWAY_NVML_BATCH=0 watch single
[ "$served_calls" -ge "$calls" ] || fail "without batching $calls calls were only $served_calls round trips"
grep -q '^utilisation 0' "$dir/single" || fail "the monitor printed no values: $(cat "$dir/single")"
# On a busy machine answers expire before they are used: then try again.
for try in 1 2 3 4 5 6 7 8 9 10; do
	watch batched
	cmp "$dir/single" "$dir/batched" || fail "batched and single answers differ: $(diff "$dir/single" "$dir/batched")"
	[ $((served_calls * 4)) -gt "$calls" ] || break
done
[ $((served_calls * 4)) -le "$calls" ] || fail "with batching $calls calls were still $served_calls round trips"
echo "$calls calls in $served_calls round trips, at try $try"
kill "$server"
wait "$server" || fail "the server returned $?"
finish
