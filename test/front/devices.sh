#!/bin/sh
# If the requested device does not exist, the library returns CUDA_ERROR_NO_DEVICE and prints nothing, and gangway run
# says in one line what is missing.
gangway=$1
probe=$2 # prints the result of cuInit
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

answers() { # device, result
	GANGWAY_DEVICE=$1 "$probe" >"$out/said" 2>"$out/err"
	[ "$(cat "$out/said")" = "$2" ] || fail "GANGWAY_DEVICE=$1: $(cat "$out/said"), not $2"
	[ -s "$out/err" ] && fail "GANGWAY_DEVICE=$1: the library printed: $(cat "$out/err")"
}
one_line() { # device
	"$gangway" run --on "$1" -- true 2>"$out/err" >"$out/said" && fail "run --on $1 started the program"
	[ "$(grep -c . "$out/err")" = 1 ] || fail "run --on $1 does not say one line but: $(cat "$out/err")"
	grep -q "$2" "$out/err" || fail "run --on $1 says: $(cat "$out/err")"
}

answers null 0
answers nosuchdevice 100
answers nullx 100
answers "$(head -c 5000 /dev/zero | tr '\0' x)" 100
GANGWAY_TRACE=1 GANGWAY_DEVICE=nosuchdevice "$probe" 2>&1 | grep -q 'nosuchdevice is not a device' ||
	fail "the trace does not say why"
for setting in GANGWAY_WATCHDOG_MS=soon GANGWAY_WATCHDOG_MS=-1 GANGWAY_DEVICE_MEMORY=16E GANGWAY_DEVICE_COUNT=65; do
	env "$setting" GANGWAY_DEVICE=cpu "$probe" 2>/dev/null | grep -qx 0 && fail "$setting is accepted"
	env "$setting" GANGWAY_TRACE=1 GANGWAY_DEVICE=cpu "$probe" 2>&1 | grep -q "${setting%=*}.*is invalid: set a number" ||
		fail "the trace does not say what is wrong with $setting"
done
"$gangway" run --on nosuchdevice -- true 2>/dev/null && fail "run --on nosuchdevice started the program"

if "$gangway" run --on nvidia -- true 2>/dev/null; then
	echo "note: this machine has a vendor driver, so its absence is not tested"
else
	answers nvidia 100
	one_line nvidia 'libcuda'
fi
exit $failed
