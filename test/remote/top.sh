#!/bin/sh
# gangway top on a real terminal: shows three clients; the test selects one and ends it.  top.sh BUILD SERVED unix CLIENT
command -v tmux >/dev/null || { echo "skip: tmux is not installed"; exit 77; }
. "$(dirname "$0")/faults.sh"
unset TMUX
trap 'screen kill-server 2>/dev/null; kill -9 $server $(children $server) 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
screen() { tmux -S "$dir/tmux" "$@"; }
shot() { screen capture-pane -p >"$dir/shot" 2>/dev/null && grep -q -- "$1" "$dir/shot"; }
sees() { until_true 60 shot "$1" || fail "the screen does not show '$1': $(cat "$dir/shot")"; }

"$gangway" top --on "unix:$dir/none" --once >"$dir/out" 2>&1 && fail "gangway top succeeds without a server"
says "$dir/out" 'no server is listening' || fail "gangway top does not report the missing server: $(cat "$dir/out")"

serve
hold first hold
first=$held
exec 8>&9 9>&-
hold second lost
second=$held
exec 7>&9 9>&-
hold third copy
third=$held
exec 9>&-
screen -f /dev/null new-session -d -x 130 -y 20 \
	"LC_ALL=C.UTF-8 TERM=screen '$gangway' top --on '$GANGWAY_DEVICE' --delay 0.2; echo status \$?; cat" 8>&- 7>&- ||
	{ echo "skip: tmux does not start"; exit 77; }
sees '3 of 256 clients'
sees "$first .* remote-client .* 8.0 MiB"
sees "$third .*iB .*iB "
# Sort by process id: the position of the second client depends on whether process ids have wrapped.
downs=$(printf '%s\n' "$first" "$second" "$third" | sort -n | sed "s/.*/Down &/; /^Down $second$/q" | cut -d ' ' -f 1)
screen send-keys r s s s s s
sees 'sorted by pid, smallest first'
screen send-keys k
sees 'select a client first'
screen send-keys $downs k
sees "End client $second "
screen send-keys y
sees '2 of 256 clients'
echo go >&7
exec 7>&-
wait "$second" || fail "the ended client failed: status $? $(cat "$dir/second.out")"
kill "$third"
sees '1 of 256 clients'
screen send-keys q
sees 'status 0'
screen kill-server
echo go >&8
exec 8>&-
wait "$first" || fail "the other client failed: status $? $(cat "$dir/first.out")"
finish
