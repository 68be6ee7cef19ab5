#!/bin/sh
# What a server tells about itself: who its clients are and what they do, in Prometheus' form and in JSON; who may
# end a client; and that odd visitors change nothing.  status.sh BUILD SERVED TRANSPORT CLIENT
. "$(dirname "$0")/faults.sh"
ask=$build/test/remote/remote-ask
serve --metrics tcp://127.0.0.1:0
metrics=$(sed -n 's/.*metrics on //p' "$dir/log")
told=$metrics
[ "$transport" = unix ] && told=$GANGWAY_DEVICE.status

answer() { # METHOD PATH STATUS
	timeout 60 "$ask" "$told" "$1" "$2" >"$dir/answer" 2>&1 || fail "$1 $2: $(cat "$dir/answer")"
	[ "$(head -n 1 "$dir/answer")" = "$3" ] || fail "$1 $2 is answered by $(head -n 1 "$dir/answer"), not $3"
	sed -i 1d "$dir/answer"
}
shows() { grep -q -- "$1" "$dir/answer" || fail "$2: $(cat "$dir/answer")"; }

answer GET /status 200
shows "\"device\": \"$served\"" "the status names no device"
shows '"clients": 0,' "a server without clients has some"

# A client that holds 8 MiB, which it has copied there.
hold holder hold
holder=$held
exec 8>&9 9>&-
# A copy is posted, and counted when the server comes to it.
copied() { answer GET /status 200 && grep -q '"bytes_up": 8388608,' "$dir/answer"; }
until_true 60 copied
shows '"clients": 1,' "the client is not counted"
shows "\"pid\": $holder," "the client's process is not named"
shows '"bytes_up": 8388608,' "what it copied is not counted"
shows '"memory": 8388608,' "its memory is not counted"
[ "$transport" = tcp ] || shows '"program": "remote-client"' "its program is not named"
if command -v python3 >/dev/null; then
	python3 -m json.tool <"$dir/answer" >/dev/null || fail "the status is no JSON"
fi

if [ "$transport" = unix ]; then
	"$gangway" top --on "$GANGWAY_DEVICE" --once >"$dir/answer" 2>&1 || fail "gangway top --once: $(cat "$dir/answer")"
	shows "^ *$holder .* remote-client .* 8.0 MiB .* 8.0 MiB " "gangway top shows no such client"
else
	"$gangway" top --on "$metrics" --once --json >"$dir/answer" 2>&1 || fail "gangway top: $(cat "$dir/answer")"
	shows "\"pid\": $holder,.*\"memory\": 8388608," "gangway top shows no such client"
fi

# Every line is a comment or a sample; histograms have what they must have.
answer GET /metrics 200
grep -vE '^(# (HELP|TYPE) gangway_[a-z_]+ .+|gangway_[a-z_]+(\{[a-z]+="([^"\\]|\\.)*"(,[a-z]+="([^"\\]|\\.)*")*\})? [0-9.e+-]+)$' \
	"$dir/answer" >"$dir/odd" && fail "odd lines: $(head -n 3 "$dir/odd")"
for name in calls round_trips launches errors copied_bytes; do
	shows "^gangway_${name}_total{.*client=\"$holder\"" "no $name"
done
shows "^gangway_memory_bytes{.*client=\"$holder\".* 8388608\$" "wrong memory"
shows 'execution_seconds_bucket{.*le="+Inf"}' "no times"
shows 'queue_wait_seconds_count{' "no times of waiting"

# Who comes with something else is told so, and nobody else notices.
answer GET / 404
answer PUT /metrics 405
answer POST /clients/1/end "$([ "$transport" = unix ] && echo 404 || echo 403)"
head -c 6000 /dev/urandom | timeout 60 "$ask" "$told" - >/dev/null 2>&1
head -c 6000 /dev/zero | tr '\0' 'a' | timeout 60 "$ask" "$told" - >"$dir/answer" 2>&1
says "$dir/answer" '^400' || fail "a request without end: $(cat "$dir/answer")"
mkfifo "$dir/crowd.in"
"$ask" "$told" crowd 40 <"$dir/crowd.in" >"$dir/crowd.out" 2>&1 8>&- &
exec 9>"$dir/crowd.in"
until_true 60 says "$dir/crowd.out" ready || fail "no crowd"
answer GET /status 200
exec 9>&-

# A client is ended by the server's user, and another is not: over TCP nobody may.
if [ "$transport" = unix ]; then
	hold victim lost
	answer POST "/clients/$(worker_of "$held")/end" 200
	until_true 60 logged 'ending client [0-9]* by request' || fail "that a client was ended is not in the log"
	release
	wait "$held" || fail "a client that was ended: $? $(cat "$dir/victim.out")"
else
	answer POST "/clients/$(worker_of "$holder")/end" 403
fi
echo go >&8
exec 8>&-
wait "$holder" || fail "a client beside: $? $(cat "$dir/holder.out")"

# Both sockets go with the server.
kill "$server"
wait "$server"
[ "$transport" = tcp ] || [ ! -e "$dir/socket.status" ] || fail "the status socket is left behind"
finish
