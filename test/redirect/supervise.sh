#!/bin/sh
# Check gangway run --follow-all with programs that are started without libc: supervise.sh GANGWAY FOLDER RAW
#
# The programs load our library. --follow-all changes neither exit status nor signals and leaves no process behind.
gangway=$1 out=$2 raw=$3
decoy=$out/decoy
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LD_AUDIT LD_PRELOAD GANGWAY_FOLLOW GANGWAY_KEEP GANGWAY_AUDIT_LOG
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
expect() { # case, output, text that the output must contain
	case $2 in
	*"$3"*) ;;
	*) fail "$1: got: $2; expected: $3" ;;
	esac
}
all() {
	timeout 60 "$gangway" run --on null --follow-all -- "$@"
}
said=$(all true 2>&1) || case $said in *seccomp* | *ptrace*) echo "skipped: $said"; exit 77 ;; *) fail "true: $said" ;; esac

for how in self thread child vfork failed many other; do
	expect "$how, gangway run" "$("$gangway" run --on null -- "$raw" "$how" "$decoy" "$out/plain/opened" 2>&1)" "ours 0 decoy 1 version 4711"
	expect "$how, --follow-all" "$(all "$raw" "$how" "$decoy" "$out/plain/opened" 2>&1)" "ours 1 decoy 0 version 13000"
done
for how in huge declined; do
	expect "$how" "$(all "$raw" "$how" "$decoy" "$out/plain/opened" 2>&1)" "ours 0 decoy 1 version 4711"
done
# Eight programs start at the same time.
said=$(all sh -c 'for i in 1 2 3 4 5 6 7 8; do "$@" & done; wait' sh "$raw" self "$decoy" "$out/plain/opened" 2>&1 | grep -c 'ours 1 decoy 0')
[ "$said" = 8 ] || fail "$said of 8 concurrent programs load our library"

# The supervisor leaves a program under another tracer alone, and the two tracers do not deadlock.
if command -v strace >/dev/null && strace -o "$work/trace" true 2>/dev/null; then
	expect "under strace" "$(all strace -f -o "$work/trace" "$raw" child "$decoy" "$out/plain/opened" 2>&1)" "ours 0 decoy 1 version 4711"
fi
# A nested --follow-all is an error: the outer supervisor already covers all descendants.
said=$(all "$gangway" run --on null --follow-all -- true 2>&1) && fail "a nested --follow-all succeeds"
expect "nested --follow-all" "$said" "already supervised"

# gangway run ends with the status or signal of the program, and the program keeps its standard input and output.
all sh -c 'exit 7'; [ $? = 7 ] || fail "gangway run does not exit with the status 7 of the program"
sh -c '"$@"; exit $?' sh "$gangway" run --on null --follow-all -- sh -c 'kill -USR2 $$' 2>/dev/null; [ $? = 140 ] || fail "gangway run does not die of SIGUSR2 as the program does"
[ "$(echo word | all cat)" = word ] || fail "the program does not get its standard input"
all "$work/none" 2>"$work/said"; [ $? = 127 ] || fail "the status for a missing program is not 127"

# gangway run forwards SIGTERM to the program.
"$gangway" run --on null --follow-all -- sh -c 'trap "echo heard >\"$1\"; exit 5" TERM; echo ready >"$2"; while :; do sleep 0.05; done' sh "$work/heard" "$work/ready" &
run=$!
until [ -s "$work/ready" ]; do sleep 0.05; done
kill -TERM $run
wait $run; [ $? = 5 ] || fail "gangway run does not exit with the status 5 of the program's SIGTERM handler"
[ -s "$work/heard" ] || fail "the program does not receive SIGTERM"

# The supervisor continues for a background process that outlives the program; gangway run does not wait for it.
all sh -c '(until [ -e "$1" ]; do sleep 0.05; done; "$2" self "$3" "$4" >"$5.part" 2>&1; mv "$5.part" "$5") & exit 0' \
	sh "$work/go" "$raw" "$decoy" "$out/plain/opened" "$work/late" || fail "gangway run fails or waits if the program leaves a background process"
: >"$work/go"
tries=1200
until [ -e "$work/late" ] || [ $tries = 0 ]; do sleep 0.05; tries=$((tries - 1)); done
expect "background process" "$(cat "$work/late")" "ours 1 decoy 0"

# SIGKILL to gangway run also ends the program, as if gangway run had become the program by execve.
"$gangway" run --on null --follow-all -- sh -c 'echo $$ >"$1"; while :; do sleep 0.05; done' sh "$work/pid" &
run=$!
until [ -s "$work/pid" ]; do sleep 0.05; done
kill -KILL $run
wait $run 2>/dev/null
tries=1200
while kill -0 "$(cat "$work/pid")" 2>/dev/null && [ $tries -gt 0 ]; do sleep 0.05; tries=$((tries - 1)); done
[ $tries -gt 0 ] || { fail "the program survives SIGKILL to gangway run"; kill -KILL "$(cat "$work/pid")"; }

# --follow-all needs no privileges.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$gangway" -a -r "$out/plain/opened" -a -x "$raw"; then
	expect "as user 65534" "$(setpriv --reuid 65534 --regid 65534 --clear-groups timeout 60 "$gangway" run --on null --follow-all -- "$raw" self "$decoy" "$out/plain/opened" 2>&1)" \
		"ours 1 decoy 0 version 13000"
else
	echo "not tested: --follow-all as user 65534 (needs root, setpriv and programs that this user can read)"
fi
exit $failed
