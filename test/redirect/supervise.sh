#!/bin/sh
# Check gangway run --follow-all with programs that are started without libc: supervise.sh GANGWAY FOLDER RAW
#
# They load our library; exit status and signals of the program are unchanged, and no process stays behind.
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
expect() { # how, what it says, words it must hold
	case $2 in
	*"$3"*) ;;
	*) fail "$1: $2, not: $3" ;;
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
# Several at once.
said=$(all sh -c 'for i in 1 2 3 4 5 6 7 8; do "$@" & done; wait' sh "$raw" self "$decoy" "$out/plain/opened" 2>&1 | grep -c 'ours 1 decoy 0')
[ "$said" = 8 ] || fail "of eight at once $said were reached"

# What a debugger has started is left to it, and nobody waits for the other.
if command -v strace >/dev/null && strace -o "$work/trace" true 2>/dev/null; then
	expect "traced" "$(all strace -f -o "$work/trace" "$raw" child "$decoy" "$out/plain/opened" 2>&1)" "ours 0 decoy 1 version 4711"
fi
# One in another is refused: the outer one leads to us already.
said=$(all "$gangway" run --on null --follow-all -- true 2>&1) && fail "one in another"
expect "one in another" "$said" "already supervised"

# As it ends, so do we; its words, its input and its output are its own.
all sh -c 'exit 7'; [ $? = 7 ] || fail "not status 7"
sh -c '"$@"; exit $?' sh "$gangway" run --on null --follow-all -- sh -c 'kill -USR2 $$' 2>/dev/null; [ $? = 140 ] || fail "not of SIGUSR2"
[ "$(echo word | all cat)" = word ] || fail "its input"
all "$work/none" 2>"$work/said"; [ $? = 127 ] || fail "a program that is not there"

# A signal for us is one for it: and none that it does not get.
"$gangway" run --on null --follow-all -- sh -c 'trap "echo heard >\"$1\"; exit 5" TERM; echo ready >"$2"; while :; do sleep 0.05; done' sh "$work/heard" "$work/ready" &
run=$!
until [ -s "$work/ready" ]; do sleep 0.05; done
kill -TERM $run
wait $run; [ $? = 5 ] || fail "it did not end by SIGTERM"
[ -s "$work/heard" ] || fail "SIGTERM was not passed on"

# Whoever stays behind is looked after, and the supervisor ends with the last of them.
all sh -c '(until [ -e "$1" ]; do sleep 0.05; done; "$2" self "$3" "$4" >"$5.part" 2>&1; mv "$5.part" "$5") & exit 0' \
	sh "$work/go" "$raw" "$decoy" "$out/plain/opened" "$work/late" || fail "it waited for a child that the program left behind"
: >"$work/go"
tries=1200
until [ -e "$work/late" ] || [ $tries = 0 ]; do sleep 0.05; tries=$((tries - 1)); done
expect "left behind" "$(cat "$work/late")" "ours 1 decoy 0"

# gangway run is killed: the program is, too, as when it had become it.
"$gangway" run --on null --follow-all -- sh -c 'echo $$ >"$1"; while :; do sleep 0.05; done' sh "$work/pid" &
run=$!
until [ -s "$work/pid" ]; do sleep 0.05; done
kill -KILL $run
wait $run 2>/dev/null
tries=1200
while kill -0 "$(cat "$work/pid")" 2>/dev/null && [ $tries -gt 0 ]; do sleep 0.05; tries=$((tries - 1)); done
[ $tries -gt 0 ] || { fail "the program lives on"; kill -KILL "$(cat "$work/pid")"; }

# Without any right, too.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$gangway" -a -r "$out/plain/opened" -a -x "$raw"; then
	expect "nobody" "$(setpriv --reuid 65534 --regid 65534 --clear-groups timeout 60 "$gangway" run --on null --follow-all -- "$raw" self "$decoy" "$out/plain/opened" 2>&1)" \
		"ours 1 decoy 0 version 13000"
else
	echo "not tried as nobody"
fi
exit $failed
