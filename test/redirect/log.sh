#!/bin/sh
# Check GANGWAY_AUDIT_LOG: log.sh GANGWAY PROGRAMS OPEN (the output of build.sh, and the program of open_libraries.c)
gangway=$1
out=$2
open=$3
libraries=$(cd "$(dirname "$gangway")/../lib/gangway" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LD_AUDIT GANGWAY_KEEP
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
has() { # file, expected line with \t for a tab and * for the process id
	grep -qxE "$(printf '%s' "$2" | sed 's/[.]/\\&/g; s/\\\\t/\t/g; s/\*/[0-9]+/')" "$1" || {
		fail "the log has no line: $2"
		cat "$1"
	}
}
tab=$(printf '\t')
line() { # file, fields
	file=$1
	shift
	l=$1$tab\*
	shift
	for f in "$@"; do l=$l$tab$f; done
	has "$file" "$l"
}

# Log to a file: the requested name, the requester, the result, and how the loader found the file.
GANGWAY_AUDIT_LOG=$work/log "$gangway" run -- "$out/origin/linked" >/dev/null || fail "the program fails with a log"
line "$work/log" start "$out/origin/linked"
line "$work/log" asked libcuda.so.1 - redirected "$libraries/libcuda.so.1"
line "$work/log" loaded "$libraries/libcuda.so.1" path base
line "$work/log" asked libc.so.6 - other libc.so.6
grep -qE "^loaded$tab[0-9]+$tab/.*/libc.so.6$tab(cache|default)${tab}base$" "$work/log" || fail "the log does not name the cache as the source of libc.so.6"
[ -z "$(grep -vE "^(start$tab[0-9]+($tab[^$tab]+){1}|asked$tab[0-9]+($tab[^$tab]+){4}|loaded$tab[0-9]+($tab[^$tab]+){3})$" "$work/log")" ] ||
	fail "the log has lines in another format"

# Log to a descriptor. The names: our own path, a driver name, a missing file, and one with control characters.
strange=$(printf 'a\tb\nc\\d')
GANGWAY_AUDIT_LOG=5 "$gangway" run -- "$open" "$libraries/libcuda.so.1" @libcuda.so "$out/decoy/libcuda.so.1" /nosuch/libx.so.1 "$strange" \
	5>"$work/five" >/dev/null
line "$work/five" asked "$libraries/libcuda.so.1" - ours "$libraries/libcuda.so.1"
line "$work/five" asked libcuda.so - redirected "$libraries/libcuda.so.1"
line "$work/five" asked "$out/decoy/libcuda.so.1" - redirected "$libraries/libcuda.so.1"
line "$work/five" loaded "$libraries/libcuda.so.1" path other
line "$work/five" asked /nosuch/libx.so.1 - other /nosuch/libx.so.1
grep -qF 'a\x09b\x0ac\x5cd' "$work/five" || fail "the log does not escape control characters"

# The log distinguishes RUNPATH from LD_LIBRARY_PATH.
: >"$work/log"
mkdir "$work/runpath" && echo 'int nothing;' >"$work/x.c" &&
	${CC:-cc} -shared -fPIC -Wl,-soname,libgwx.so -o "$work/runpath/libgwx.so" "$work/x.c" &&
	${CC:-cc} -shared -fPIC -o "$work/needs.so" "$work/x.c" -Wl,--no-as-needed "$work/runpath/libgwx.so" -Wl,-rpath,"$work/runpath" &&
	${CC:-cc} -shared -fPIC -o "$work/bare.so" "$work/x.c" -Wl,--no-as-needed "$work/runpath/libgwx.so" || exit 1
GANGWAY_AUDIT_LOG=$work/log "$gangway" run -- "$open" "$work/needs.so" >/dev/null
line "$work/log" asked libgwx.so "$work/needs.so" other libgwx.so
line "$work/log" loaded "$work/runpath/libgwx.so" runpath base
GANGWAY_AUDIT_LOG=$work/log LD_LIBRARY_PATH=$work/runpath "$gangway" run -- "$open" "$work/bare.so" >/dev/null
line "$work/log" loaded "$work/runpath/libgwx.so" environment base

# The audit library stops logging when the program reuses the descriptor for its own file.
GANGWAY_AUDIT_LOG=5 "$gangway" run -- sh -c 'exec 5>"$1"; "$2" libcuda.so.1 >/dev/null; echo done >&5' sh "$work/mine" "$open" 5>"$work/five"
# The shell's child starts with that file as descriptor 5 and rightly logs to it: ignore its lines.
sed '/^\(start\|asked\|loaded\)/d' "$work/mine" | grep -qx done || fail "the log overwrites the program's own file"
"$gangway" run -- env GANGWAY_AUDIT_LOG=5 "$(dirname "$open")/redirect-reuse-descriptor" "$work/reused" 5>"$work/five" || fail "redirect-reuse-descriptor fails"
[ "$(cat "$work/reused")" = mine ] || fail "the audit library writes to a reused descriptor: $(cat "$work/reused")"
# The program runs normally if the descriptor is closed or the log file cannot be opened.
said=$(GANGWAY_AUDIT_LOG=77 "$gangway" run -- "$open" libcuda.so.1 2>&1) || fail "the program fails with a log to a closed descriptor: $said"
said=$(GANGWAY_AUDIT_LOG=/nosuch/folder/log "$gangway" run -- echo fine 2>&1)
[ "$said" = fine ] || fail "with a log file that cannot be opened, got: $said; expected: fine"
# The gangway command opens the vendor driver by its path; the audit library does not redirect that request.
: >"$work/log"
GANGWAY_AUDIT_LOG=$work/log GANGWAY_NVIDIA_LIBRARY=$out/decoy/libcuda.so.1 \
	"$gangway" run --on null -- timeout 60 "$gangway" serve --on nvidia --listen "unix:$work/socket" --spares 1 >"$work/served" 2>&1 &
until grep -q "decoy/libcuda" "$work/log" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
kill $! 2>/dev/null
wait
line "$work/log" asked "$out/decoy/libcuda.so.1" - own "$out/decoy/libcuda.so.1"
exit $failed
