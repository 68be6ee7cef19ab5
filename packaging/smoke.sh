#!/bin/sh
# Check that this installation of Gangway works: smoke.sh. Needs only a shell; changes nothing.
prefix=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
lib=$prefix/lib/gangway
gangway=$prefix/bin/gangway
[ -x "$gangway" ] || { echo "smoke.sh: $gangway does not exist or is not executable"; exit 1; }
unset LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT GANGWAY_DEVICE GANGWAY_SOCKET GANGWAY_TRACE NO_RESULTS
work=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
failed=0

# check NAME PATTERN COMMAND...: the command succeeds and prints PATTERN
check() {
	name=$1 pattern=$2
	shift 2
	if "$@" >"$work/out" 2>&1 && { [ -z "$pattern" ] || grep -q -e "$pattern" "$work/out"; }; then
		echo "ok      $name"
	else
		echo "FAILED  $name: $*"
		sed 's/^/        /' "$work/out"
		failed=1
	fi
}

check 'the command' 'same build' "$gangway" version
if "$gangway" version 2>/dev/null | grep -E 'missing|another build'; then
	failed=1
fi
check 'the CPU device computes' 'sums are correct' "$gangway" run --on cpu "$lib/vectoradd"
check 'the null device records' 'every call succeeded' env NO_RESULTS=1 "$gangway" run --on null "$lib/vectoradd"
check 'the library path is sufficient' 'sums are correct' env LD_LIBRARY_PATH="$lib" GANGWAY_DEVICE=cpu "$lib/vectoradd"

"$gangway" serve --on cpu --listen "unix:$work/sock" 2>"$work/serve" &
server=$!
tries=60
until grep -qs listening "$work/serve" || [ $((tries -= 1)) -eq 0 ]; do
	sleep 1
done
check 'a served device computes' 'sums are correct' "$gangway" run --on "unix:$work/sock" "$lib/vectoradd"
kill "$server"
wait "$server"
check 'the server exits with status 0' '' [ $? = 0 ]
server=

check 'a stub reports that it is a stub' 'cuInit' sh -c '! LD_LIBRARY_PATH="$1/stubs" "$1/vectoradd"' sh "$lib"
for list in "$prefix"/share/gangway/*.exports; do
	soname=$(basename "$list" .exports)
	folder=$lib
	[ -e "$folder/$soname" ] || folder=$lib/cpu
	[ -e "$folder/$soname" ] || folder=$lib/cudart
	# (the loader would split a path at a space)
	check "$soname loads by itself" '' sh -c 'said=$(cd "$1" && LD_LIBRARY_PATH="$3" LD_BIND_NOW=1 LD_PRELOAD="./$2" /bin/true 2>&1) && [ -z "$said" ]' \
		sh "$folder" "$soname" "$lib"
	command -v nm >/dev/null || continue
	nm -D --defined-only "$folder/$soname" | sed 's/.* //; s/@.*//' | grep -v "^$soname$" | sort >"$work/have"
	sort "$list" >"$work/want"
	check "exports of $soname" '' cmp "$work/want" "$work/have"
done
check 'gangway config --stubs' "stubs" "$gangway" config --stubs
check 'every stub has its library' '' sh -c 'cd "$1/stubs" && for f in *.so.*; do [ -e "../$f" ] || exit 1; done
	for f in cublas*/*.so.*; do [ -e "../cpu/${f#*/}" ] || exit 1; done' sh "$lib"
[ $failed = 0 ] && echo "Gangway in $prefix works."
exit $failed
