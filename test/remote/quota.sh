#!/bin/sh
# What others see of a quota: the metrics, the status, gangway top and gangway smi; and that a client that dies leaves
# nothing behind.  quota.sh BUILD SERVED TRANSPORT CLIENT QUOTA
. "$(dirname "$0")/faults.sh"
program=$5
ask=$build/test/remote/remote-ask
export GANGWAY_USAGE="$dir/usage"
serve --memory 64M --metrics tcp://127.0.0.1:0
metrics=$(sed -n 's/.*metrics on //p' "$dir/log")
shows() { grep -q -- "$1" "$dir/answer" || fail "$2: $(cat "$dir/answer")"; }
answer() {
	timeout 60 "$ask" "$metrics" GET "$1" >"$dir/answer" 2>&1 || fail "$1: $(cat "$dir/answer")"
}

hold holder hold
holder=$held
exec 8>&9 9>&-
answer /metrics
shows "^gangway_memory_quota_bytes{.*client=\"$holder\".* 67108864\$" "no quota in the metrics"
answer /status
shows '"memory_peak": 8388608, "quota": 67108864}' "no quota in the status"
"$gangway" top --on "$metrics" --once --json >"$dir/answer" 2>&1
shows "\"pid\": $holder,.*\"memory\": 8388608, \"quota\": 67108864," "no quota in gangway top --json"
"$gangway" top --on "$metrics" --once >"$dir/answer" 2>&1
shows "^ *$holder .* 8.0 MiB *64.0 MiB " "no quota in gangway top"
if [ "$transport" = unix ]; then
	# The device as a whole is what it is, and who only looks is not there.
	"$gangway" top --on "$GANGWAY_DEVICE" --once --json >"$dir/answer" 2>&1
	shows '"memory_used": [1-9][0-9]*,' "gangway top does not know how much is used"
	[ "$(grep -c '"worker"' "$dir/answer")" -eq 1 ] || fail "gangway top shows itself: $(cat "$dir/answer")"
	grep -q '"memory": 67108864,' "$dir/answer" && fail "gangway top takes the quota for the device: $(cat "$dir/answer")"
fi
"$gangway" run --on "$GANGWAY_DEVICE" "$gangway" smi --query-gpu=memory.total,memory.free,memory.used \
	--format=csv,noheader >"$dir/answer" 2>&1
shows '^64 MiB, 64 MiB, 0 MiB$' "gangway smi"

# Who is killed with all of it in its hands gives it back to the next one.
for i in 1 2; do
	[ "$(timeout 60 "$program" stranger)" = 67108864 ] || fail "a client does not get all of its quota"
done
kill -9 "$(worker_of "$holder")"
until_true 60 logged 'ended by signal 9' || fail "the worker lives"
exec 8>&-
wait "$holder"
[ "$(timeout 60 "$program" stranger)" = 67108864 ] || fail "after a worker has died a client does not get its quota"
kill "$server"
wait "$server"

# Where the device has less left than the quota, that is what is free.
export GANGWAY_DEVICE_MEMORY=96M
serve --memory 64M
client=$program hold greedy hold
says "$dir/greedy.out" '^67108864 ' || fail "of 96 MiB one gets $(cat "$dir/greedy.out")"
"$gangway" smi --query-gpu=memory.total,memory.free,memory.used --format=csv,noheader >"$dir/answer" 2>&1
shows '^64 MiB, 32 MiB, 32 MiB$' "gangway smi of a device that is nearly full"
release
wait "$held"
kill "$server"
wait "$server"
unset GANGWAY_DEVICE_MEMORY

# A part of the device; and what is none.
serve --memory 1%
all=$("$gangway" smi --query-gpu=memory.total --format=csv,noheader,nounits)
got=$(timeout 60 "$program" stranger)
[ $((got / 1048576)) -eq "$all" ] || fail "of 1 %, which is $all MiB, a client gets $got bytes"
for size in 0 0% 101% 8Q G -1 99999999999T 1.5G ''; do
	"$gangway" serve --on "$served" --listen "unix:$dir/none" --memory "$size" >"$dir/answer" 2>&1
	[ $? -eq 2 ] && says "$dir/answer" '512M' || fail "--memory '$size' says: $(cat "$dir/answer")"
done
kill "$server"
wait "$server"
finish
