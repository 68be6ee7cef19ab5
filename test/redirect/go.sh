#!/bin/sh
# Check the children of Go programs, with and without the C library: go.sh GANGWAY FOLDER
#
# A child that inherits the environment loads our library, whatever folder comes first in LD_LIBRARY_PATH. A child with a
# new environment does not, because Go's runtime calls execve without libc (doc/loading.md); --follow-all covers that
# case, too. ollama.go repeats the start sequence of each generation of Ollama, all of which pass the environment on.
gangway=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
"$here/../helper/package.sh" go golang-go || exit
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LD_AUDIT LD_PRELOAD GANGWAY_FOLLOW GANGWAY_KEEP GANGWAY_AUDIT_LOG
# Keep the build cache between runs: compiling Go's standard library takes long.
GOCACHE=$(dirname "$out")/go GOFLAGS=-mod=mod GO111MODULE=off GOTOOLCHAIN=local
export GOCACHE GOFLAGS GO111MODULE GOTOOLCHAIN

failed=0
expect() { # case, output, text that the output must contain
	case $2 in
	*"$3"*) ;;
	*) echo "FAIL: $1: got: $2; expected: $3"; failed=1 ;;
	esac
}
cp "$here/../helper/redirect/launch.go" "$work/launch.go"
CGO_ENABLED=0 go build -o "$work/static" "$work/launch.go" || exit 1
sed 's/^package main$/&\nimport "C"/' "$here/../helper/redirect/launch.go" >"$work/launch.go"
CGO_ENABLED=1 go build -o "$work/dynamic" "$work/launch.go" || exit 1
readelf -l "$work/static" | grep -q INTERP && { echo "FAIL: $work/static is not statically linked"; failed=1; }
readelf -d "$work/dynamic" | grep -q 'libc\.so\.6' || { echo "FAIL: $work/dynamic does not need libc.so.6"; failed=1; }
decoy=$out/decoy
for kind in static dynamic; do
	for mode in linked opened; do
		for how in kept made; do
			set -- "$work/$kind" "$how" "$decoy" "$out/plain/$mode"
			expect "$kind, $mode, $how, without gangway run" "$("$@" 2>&1)" "ours 0 decoy 1 version"
			case $how in
			kept) want="ours 1 decoy 0 version 13000" ;;
			made) want="ours 0 decoy 1 version 4711" ;;
			esac
			expect "$kind, $mode, $how, gangway run" "$("$gangway" run --on null -- "$@" 2>&1)" "$want"
			said=$("$gangway" run --on null --follow-all -- "$@" 2>&1)
			case $said in *seccomp* | *ptrace*) echo "not tested: --follow-all: $said"; continue ;; esac
			expect "$kind, $mode, $how, --follow-all" "$said" "ours 1 decoy 0 version 13000"
		done
	done
done
cp "$here/../helper/redirect/ollama.go" "$work/ollama.go"
CGO_ENABLED=1 go build -o "$work/ollama" "$work/ollama.go" || exit 1
for generation in a b c; do
	set -- "$work/ollama" $generation "$decoy" "$out/plain/linked.so" "$out/plain/opened"
	said=$("$@" 2>&1 | sort -u)
	case $said in "ours 0 decoy 1"*) ;; *) echo "FAIL: Ollama, $generation, without gangway run: $said"; failed=1 ;; esac
	said=$("$gangway" run --on null -- "$@" 2>&1)
	expect "Ollama, $generation, gangway run" "$said" "ours 1 decoy 0"
	case $said in *"ours 0"* | *"decoy 1"*) echo "FAIL: Ollama, $generation: a process loads the decoy: $said"; failed=1 ;; esac
done
exit $failed
