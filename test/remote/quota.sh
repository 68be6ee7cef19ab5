#!/bin/sh
# A quota as the metrics, the status, gangway top and gangway smi show it; and a killed client leaves no memory counted.
# quota.sh BUILD SERVED TRANSPORT CLIENT QUOTA
. "$(dirname "$0")/faults.sh"
program=$5
request=$build/test/remote/remote-status-request
export GANGWAY_USAGE="$dir/usage"
serve --memory 64M --metrics tcp://127.0.0.1:0
metrics=$(sed -n 's/.*metrics on //p' "$dir/log")
shows() { grep -q -- "$1" "$dir/answer" || fail "$2: $(cat "$dir/answer")"; }
answer() {
	timeout 60 "$request" "$metrics" GET "$1" >"$dir/answer" 2>&1 || fail "$1: $(cat "$dir/answer")"
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
	# gangway top shows the memory of the whole device, and does not list itself as a client.
	"$gangway" top --on "$GANGWAY_DEVICE" --once --json >"$dir/answer" 2>&1
	shows '"memory_used": [1-9][0-9]*,' "gangway top shows no used memory"
	[ "$(grep -c '"worker"' "$dir/answer")" -eq 1 ] || fail "gangway top shows itself: $(cat "$dir/answer")"
	grep -q '"memory": 67108864,' "$dir/answer" && fail "gangway top shows the quota as the memory of the device: $(cat "$dir/answer")"
fi
"$gangway" run --on "$GANGWAY_DEVICE" "$gangway" smi --query-gpu=memory.total,memory.free,memory.used \
	--format=csv,noheader >"$dir/answer" 2>&1
shows '^64 MiB, 64 MiB, 0 MiB$' "gangway smi does not show the quota"

# A client that ends or dies while holding its whole quota leaves it free for the next client.
for i in 1 2; do
	[ "$(timeout 60 "$program" all)" = 67108864 ] || fail "a client does not get all of its quota"
done
kill -9 "$(worker_of "$holder")"
until_true 60 logged 'ended by signal 9' || fail "the log does not report the killed worker"
exec 8>&-
wait "$holder"
[ "$(timeout 60 "$program" all)" = 67108864 ] || fail "a client does not get all of its quota after the death of a worker"
kill "$server"
wait "$server"

# If the device has less free memory than the quota, the client sees the device's free memory.
export GANGWAY_DEVICE_MEMORY=96M
serve --memory 64M
client=$program hold greedy hold
says "$dir/greedy.out" '^67108864 ' || fail "a client with a quota of 64 MiB on a device of 96 MiB gets $(cat "$dir/greedy.out")"
"$gangway" smi --query-gpu=memory.total,memory.free,memory.used --format=csv,noheader >"$dir/answer" 2>&1
shows '^64 MiB, 32 MiB, 32 MiB$' "gangway smi on a nearly full device"
release
wait "$held"
kill "$server"
wait "$server"
unset GANGWAY_DEVICE_MEMORY

# A quota as a percentage, and invalid sizes.
serve --memory 1%
all=$("$gangway" smi --query-gpu=memory.total --format=csv,noheader,nounits)
got=$(timeout 60 "$program" all)
[ $((got / 1048576)) -eq "$all" ] || fail "with a quota of 1 %, which is $all MiB, a client gets $got bytes"
for size in 0 0% 101% 8Q G -1 99999999999T 1.5G ''; do
	"$gangway" serve --on "$served" --listen "unix:$dir/none" --memory "$size" >"$dir/answer" 2>&1
	[ $? -eq 2 ] && says "$dir/answer" '512M' || fail "serve --memory '$size' does not explain the valid sizes: $(cat "$dir/answer")"
done
kill "$server"
wait "$server"
finish
