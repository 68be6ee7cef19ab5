# Functions for the fault tests, which source this file: faults-X.sh BUILD SERVED TRANSPORT CLIENT
build=$1 served=$2 transport=$3 client=$4
gangway=$build/bin/gangway
dir=$(mktemp -d) || exit 1
: >"$dir/log"
failed=0
server=
trap 'kill -9 $server $(children $server) 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*"
	failed=1
}
finish() {
	grep -q 'Sanitizer\|runtime error\|exit status' "$dir/log" && fail "the server log reports an error"
	[ $failed = 0 ] || tail -n 200 "$dir/log" | sed 's/^/server: /'
	exit $failed
}
# until_true SECONDS COMMAND...: repeats the command until it succeeds or the time is over.
until_true() {
	tenths=$(($1 * 10))
	shift
	while ! "$@"; do
		tenths=$((tenths - 1))
		[ $tenths -gt 0 ] || return 1
		sleep 0.1
	done
}
now_ms() { date +%s%3N; }
listening() { [ "$(grep -c 'listening on' "$dir/log")" -ge "$1" ]; }
serves=0
serve() { # further options of gangway serve
	address=unix:$dir/socket
	[ "$transport" = tcp ] && address=tcp://:0
	[ "$(id -u)" = 0 ] || set -- --dumpable "$@" # the tests read /proc/PID of the server and its workers
	"$gangway" serve --on "$served" --listen "$address" "$@" 2>>"$dir/log" 8>&- 9>&- &
	server=$!
	serves=$((serves + 1))
	until_true 60 listening $serves || fail "the server does not start"
	GANGWAY_DEVICE=$(sed -n 's/.*listening on //p' "$dir/log" | tail -n 1)
	export GANGWAY_DEVICE
}
# The server has no child but the spare: all workers have ended, and the parent has reaped them.
alone() { [ "$(children "$server" | wc -w)" -le 1 ]; }
alive() { kill -0 "$1" 2>/dev/null; }
gone() { ! alive "$1"; }
children() { cat "/proc/$1/task/$1/children" 2>/dev/null; }
# Kills the parent by SIGKILL and waits for its workers to end with it.
slay() {
	orphans=$(children "$server")
	kill -9 "$server"
	wait "$server" 2>/dev/null
	for orphan in $orphans; do
		until_true 60 ended "$orphan" || fail "worker $orphan outlives its parent"
	done
}
ended() { ! grep -qs gangway "/proc/$1/cmdline"; } # also true for a zombie
logged() { grep -q "$1" "$dir/log"; }
says() { grep -q "$2" "$1" 2>/dev/null; }
# hold NAME VERB: starts a client in the background, with a fifo as its stdin and NAME.out as its output.
hold() {
	mkfifo "$dir/$1.in"
	"$client" "$2" <"$dir/$1.in" >"$dir/$1.out" 2>&1 8>&- 9>&- &
	held=$!
	exec 9>"$dir/$1.in"
	until_true 60 says "$dir/$1.out" ready || fail "client $1 does not start: $(cat "$dir/$1.out")"
}
release() { # lets the client held last continue
	echo go >&9 2>/dev/null
	exec 9>&-
}
worker_of() { # PID of the client
	sed -n "s/gangway\[\([0-9]*\)\]: client $1 of .*connected.*/\1/p" "$dir/log" | tail -n 1 # process ids are reused: take the last
}
once() { timeout 200 "$client" once >"$dir/once.out" 2>&1; }
