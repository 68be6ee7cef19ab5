#!/bin/sh
# Check the children of Go programs, with and without the C library: go.sh GANGWAY FOLDER
#
# An environment that was passed on leads to us, whatever stands in front of it.  One that was made anew does
# not: the runtime asks no libc for it.  doc/loading.md says so; --follow-all reaches those, too.
# And what each generation of Ollama does, which is one that passes it on.
gangway=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
"$here/../helper/package.sh" go golang-go || exit
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LD_AUDIT LD_PRELOAD GANGWAY_FOLLOW GANGWAY_KEEP GANGWAY_AUDIT_LOG
# Kept between runs: what it makes of its own library takes a while.
GOCACHE=$(dirname "$out")/go GOFLAGS=-mod=mod GO111MODULE=off GOTOOLCHAIN=local
export GOCACHE GOFLAGS GO111MODULE GOTOOLCHAIN

failed=0
expect() { # how, what it says, words it must hold
	case $2 in
	*"$3"*) ;;
	*) echo "FAIL: $1: $2, not: $3"; failed=1 ;;
	esac
}
cp "$here/launch.go" "$work/launch.go"
CGO_ENABLED=0 go build -o "$work/static" "$work/launch.go" || exit 1
sed 's/^package main$/&\nimport "C"/' "$here/launch.go" >"$work/launch.go"
CGO_ENABLED=1 go build -o "$work/dynamic" "$work/launch.go" || exit 1
readelf -l "$work/static" | grep -q INTERP && { echo "FAIL: static is not"; failed=1; }
readelf -d "$work/dynamic" | grep -q 'libc\.so\.6' || { echo "FAIL: dynamic has no libc"; failed=1; }
decoy=$out/decoy
for kind in static dynamic; do
	for mode in linked opened; do
		for how in kept made; do
			set -- "$work/$kind" "$how" "$decoy" "$out/plain/$mode"
			expect "$kind, $mode, $how, by itself" "$("$@" 2>&1)" "ours 0 decoy 1 version"
			case $how in
			kept) want="ours 1 decoy 0 version 13000" ;;
			made) want="ours 0 decoy 1 version 4711" ;;
			esac
			expect "$kind, $mode, $how, gangway run" "$("$gangway" run --on null -- "$@" 2>&1)" "$want"
			said=$("$gangway" run --on null --follow-all -- "$@" 2>&1)
			case $said in *seccomp* | *ptrace*) echo "not tried: $said"; continue ;; esac
			expect "$kind, $mode, $how, --follow-all" "$said" "ours 1 decoy 0 version 13000"
		done
	done
done
cp "$here/ollama.go" "$work/ollama.go"
CGO_ENABLED=1 go build -o "$work/ollama" "$work/ollama.go" || exit 1
for generation in a b c; do
	set -- "$work/ollama" $generation "$decoy" "$out/plain/linked.so" "$out/plain/opened"
	said=$("$@" 2>&1 | sort -u)
	case $said in "ours 0 decoy 1"*) ;; *) echo "FAIL: Ollama, $generation, by itself: $said"; failed=1 ;; esac
	said=$("$gangway" run --on null -- "$@" 2>&1)
	expect "Ollama, $generation, gangway run" "$said" "ours 1 decoy 0"
	case $said in *"ours 0"* | *"decoy 1"*) echo "FAIL: Ollama, $generation: $said"; failed=1 ;; esac
done
exit $failed
