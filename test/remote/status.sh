#!/bin/sh
# The server's status page: its clients and their counters as Prometheus metrics and as JSON, the permission to end a
# client, and invalid requests, which must not disturb the server.  status.sh BUILD SERVED TRANSPORT CLIENT
. "$(dirname "$0")/faults.sh"
request=$build/test/remote/remote-status-request
serve --metrics tcp://127.0.0.1:0
metrics=$(sed -n 's/.*metrics on //p' "$dir/log")
told=$metrics
[ "$transport" = unix ] && told=$GANGWAY_DEVICE.status

answer() { # METHOD PATH STATUS
	timeout 60 "$request" "$told" "$1" "$2" >"$dir/answer" 2>&1 || fail "$1 $2: $(cat "$dir/answer")"
	[ "$(head -n 1 "$dir/answer")" = "$3" ] || fail "$1 $2 returned $(head -n 1 "$dir/answer"), expected $3"
	sed -i 1d "$dir/answer"
}
shows() { grep -q -- "$1" "$dir/answer" || fail "$2: $(cat "$dir/answer")"; }

answer GET /status 200
shows "\"device\": \"$served\"" "the status does not name the device"
shows '"clients": 0,' "a server without clients does not report 0 clients"

# A client that has allocated 8 MiB and copied 8 MiB up.
hold holder hold
holder=$held
exec 8>&9 9>&-
# The client posts the copy; the worker counts it when it makes the call.
copied() { answer GET /status 200 && grep -q '"bytes_up": 8388608,' "$dir/answer"; }
until_true 60 copied
shows '"clients": 1,' "the status does not count the client"
shows "\"pid\": $holder," "the status does not name the client's process"
shows '"bytes_up": 8388608,' "the status does not count the copied bytes"
shows '"memory": 8388608,' "the status does not count the client's memory"
[ "$transport" = tcp ] || shows '"program": "remote-client"' "the status does not name the client's program"
if command -v python3 >/dev/null; then
	python3 -m json.tool <"$dir/answer" >/dev/null || fail "the status is not valid JSON"
fi

if [ "$transport" = unix ]; then
	"$gangway" top --on "$GANGWAY_DEVICE" --once >"$dir/answer" 2>&1 || fail "gangway top --once: $(cat "$dir/answer")"
	shows "^ *$holder .* remote-client .* 8.0 MiB .* 8.0 MiB " "gangway top does not show the client"
else
	"$gangway" top --on "$metrics" --once --json >"$dir/answer" 2>&1 || fail "gangway top: $(cat "$dir/answer")"
	shows "\"pid\": $holder,.*\"memory\": 8388608," "gangway top does not show the client"
fi

# Every line of the metrics is a comment or a sample; histograms have buckets and counts.
answer GET /metrics 200
grep -vE '^(# (HELP|TYPE) gangway_[a-z_]+ .+|gangway_[a-z_]+(\{[a-z]+="([^"\\]|\\.)*"(,[a-z]+="([^"\\]|\\.)*")*\})? [0-9.e+-]+)$' \
	"$dir/answer" >"$dir/odd" && fail "invalid lines in the metrics: $(head -n 3 "$dir/odd")"
for name in calls round_trips launches errors copied_bytes; do
	shows "^gangway_${name}_total{.*client=\"$holder\"" "the metrics have no ${name}_total of the client"
done
shows "^gangway_memory_bytes{.*client=\"$holder\".* 8388608\$" "the metrics have a wrong memory size"
shows 'execution_seconds_bucket{.*le="+Inf"}' "the metrics have no execution times"
shows 'queue_wait_seconds_count{' "the metrics have no queue times"

# Invalid requests get an HTTP error and do not disturb other connections.
answer GET / 404
answer PUT /metrics 405
answer POST /clients/1/end "$([ "$transport" = unix ] && echo 404 || echo 403)"
head -c 6000 /dev/urandom | timeout 60 "$request" "$told" - >/dev/null 2>&1
head -c 6000 /dev/zero | tr '\0' 'a' | timeout 60 "$request" "$told" - >"$dir/answer" 2>&1
says "$dir/answer" '^400' || fail "a request without an end does not get status 400: $(cat "$dir/answer")"
mkfifo "$dir/crowd.in"
"$request" "$told" crowd 40 <"$dir/crowd.in" >"$dir/crowd.out" 2>&1 8>&- &
exec 9>"$dir/crowd.in"
until_true 60 says "$dir/crowd.out" ready || fail "the silent connections were not opened"
answer GET /status 200
exec 9>&-

# The server's user can end a client over the unix socket; over TCP no user can.
if [ "$transport" = unix ]; then
	hold victim lost
	answer POST "/clients/$(worker_of "$held")/end" 200
	until_true 60 logged 'ending client [0-9]* by request' || fail "the log does not report the ended client"
	release
	wait "$held" || fail "the ended client failed: status $? $(cat "$dir/victim.out")"
else
	answer POST "/clients/$(worker_of "$holder")/end" 403
fi
echo go >&8
exec 8>&-
wait "$holder" || fail "the other client failed: status $? $(cat "$dir/holder.out")"

# The server removes both sockets when it ends.
kill "$server"
wait "$server"
[ "$transport" = tcp ] || [ ! -e "$dir/socket.status" ] || fail "the server has not removed its status socket"
finish
