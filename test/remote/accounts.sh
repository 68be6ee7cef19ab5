#!/bin/sh
# Host memory and objects of a client in the metrics, the status and gangway top; images that were unloaded occupy little
# disk space; invalid options.  accounts.sh BUILD SERVED TRANSPORT ACCOUNTS
. "$(dirname "$0")/faults.sh"
ask=$build/test/remote/remote-status-request
export XDG_CACHE_HOME="$dir/cache"
serve --host-memory 512M --objects 1000 --image-cache 512M --metrics tcp://127.0.0.1:0
metrics=$(sed -n 's/.*metrics on //p' "$dir/log")
shows() { grep -q -- "$1" "$dir/answer" || fail "$2: $(cat "$dir/answer")"; }
answer() {
	timeout 60 "$ask" "$metrics" GET "$1" >"$dir/answer" 2>&1 || fail "$1: $(cat "$dir/answer")"
}
value() { sed -n "s/^gangway_$1{.*client=\"$2\".* \([0-9]*\)\$/\1/p" "$dir/answer"; }

hold holder hold
holder=$held
answer /metrics
[ "$(value host_memory_quota_bytes "$holder")" = 536870912 ] || fail "a wrong limit of host memory in the metrics: $(cat "$dir/answer")"
[ "$(value objects_max "$holder")" = 1000 ] || fail "a wrong limit of objects in the metrics: $(cat "$dir/answer")"
# The arenas (2 x 64 MiB), the words, and 16 MiB of pinned memory; over TCP also what both sides agreed on.
host=$(value host_memory_bytes "$holder") more=16777216
[ "$transport" = tcp ] && more=$((2 * more))
[ "$host" -ge $((134217728 + more)) ] && [ "$host" -lt $((136314880 + more)) ] || fail "the client holds $host bytes of host memory"
[ "$(value host_memory_peak_bytes "$holder")" -ge "$host" ] || fail "the peak is below $host bytes: $(cat "$dir/answer")"
objects=$(value objects "$holder")
[ "$objects" -ge 6 ] && [ "$objects" -le 30 ] || fail "the client holds $objects objects"
# The private memory of the worker is limited: 8 GiB of its own, 512 MiB of host memory, and the devices' memory.
private=$(sed -n 's/^Max data size *\([^ ]*\).*/\1/p' "/proc/$(worker_of "$held")/limits")
[ "$private" != unlimited ] && [ "$private" -ge $((9126805504)) ] || fail "the private memory of a worker is limited to $private bytes"
answer /status
shows "\"host_memory\": $host, .*\"host_memory_quota\": 536870912, \"objects\": $objects, \"objects_max\": 1000," "no host memory in the status"
"$gangway" top --on "$metrics" --once --json >"$dir/answer" 2>&1
shows "\"pid\": $holder,.*\"host_memory\": $host, \"host_memory_quota\": 536870912, \"objects\": $objects, \"objects_max\": 1000," \
	"no host memory in gangway top --json"
"$gangway" top --on "$metrics" --once >"$dir/answer" 2>&1
shows "^ *$holder .* 1[0-9][0-9] MiB *$objects " "no host memory in gangway top"
release
wait "$held" || fail "the client failed: $(cat "$dir/holder.out")"

# Thirty images of 8 MiB, loaded and unloaded, leave a sixteenth of the cache on disk; without a cache, nothing.
timeout 200 "$client" images-pass || fail "loading thirty images"
kept=$(du -sm "$dir/cache/gangway/images" | cut -f 1)
[ "$kept" -ge 8 ] && [ "$kept" -le 33 ] || fail "$kept MiB of images are on disk"
kill "$server"
wait "$server"
rm -rf "$dir/cache"
serve --image-cache 0
timeout 200 "$client" images-pass || fail "loading thirty images without a cache"
[ -z "$(ls -A "$dir/cache/gangway/images" 2>/dev/null)" ] || fail "images are on disk: $(ls -l "$dir/cache/gangway/images")"
kill "$server"
wait "$server"
for option in '--host-memory 0' '--host-memory 101%' '--objects 0' '--objects x' '--image-cache 10%' '--image-cache -1'; do
	timeout 60 "$gangway" serve --on "$served" --listen "unix:$dir/none" $option >"$dir/answer" 2>&1
	[ $? -eq 2 ] || fail "serve $option is not refused: $(cat "$dir/answer")"
done
finish
