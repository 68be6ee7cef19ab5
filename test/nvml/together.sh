#!/bin/sh
# The questions of a poll go to the server together (backend/nvml/poll.h): far fewer exchanges, and the same answers.
# together.sh BUILD SERVED TRANSPORT WATCH
. "$(dirname "$0")/../remote/faults.sh"
export LD_LIBRARY_PATH="$build/lib/gangway" GANGWAY_DEVICE_COUNT=2
polls=50
serve
# watch NAME: what it prints is in $NAME, its calls and the server's are $calls and $served_calls.
watch() {
	before=$(grep -c ' calls, ' "$dir/log")
	timeout 120 "$client" $polls >"$dir/$1" 2>"$dir/err" || { fail "the monitor failed: $(cat "$dir/err")"; finish; }
	calls=$(sed -n 's/^\([0-9]*\) calls$/\1/p' "$dir/err")
	until_true 60 more_than "$before" || fail "the server does not say how many calls there were"
	served_calls=$(sed -n 's/.* and \([0-9]*\) calls, .*/\1/p' "$dir/log" | tail -n 1)
}
more_than() { [ "$(grep -c ' calls, ' "$dir/log")" -gt "$1" ]; }

GANGWAY_NVML_AHEAD=0 watch alone
[ "$served_calls" -ge "$calls" ] || fail "one by one: $calls calls were $served_calls of the server's"
grep -q '^utilisation 0' "$dir/alone" || fail "no value is there: $(cat "$dir/alone")"
# On a busy machine answers grow old before they are asked for: then once more.
for try in 1 2 3 4 5 6 7 8 9 10; do
	watch together
	cmp "$dir/alone" "$dir/together" || fail "other answers: $(diff "$dir/alone" "$dir/together")"
	[ $((served_calls * 4)) -gt "$calls" ] || break
done
[ $((served_calls * 4)) -le "$calls" ] || fail "together: $calls calls were $served_calls of the server's"
echo "$calls calls in $served_calls exchanges, at try $try"
kill "$server"
wait "$server" || fail "the server returned $?"
finish
