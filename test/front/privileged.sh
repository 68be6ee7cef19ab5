#!/bin/sh
# A set-uid program that loads our libraries obeys none of the variables of the user who starts it: no file is
# written and no library is loaded on that user's word. privileged.sh BUILD PROGRAM
build=$1 program=$2
[ "$(id -u)" = 0 ] || { echo "skipped: only root can make a set-uid program"; exit 77; }
user='setpriv --reuid=65534 --regid=65534 --clear-groups'
$user true 2>/dev/null || { echo "skipped: setpriv does not work here"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -m 777 "$work/theirs"
# A copy of the libraries where the other user may read them.
mkdir "$work/lib" && cp -a "$build"/lib/gangway/*.so* "$work/lib/" && chmod -R a+rX "$work/lib"
cp "$program" "$work/plain" && chmod 755 "$work/plain"
cp "$program" "$work/setuid" && chmod 4755 "$work/setuid"
cat >"$work/evil.c" <<END
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) { close(creat("$work/theirs/loaded", 0600)); }
END
${CC:-cc} -shared -fPIC -o "$work/evil.so" "$work/evil.c" && chmod 755 "$work/evil.so" || exit 1

status=0
start() { # program
	for library in libcuda.so.1:cuInit libnvidia-ml.so.1:nvmlInit_v2; do
		for device in nvidia null "unix:$work/theirs/socket"; do
			env GANGWAY_DEVICE="$device" GANGWAY_NVIDIA_LIBRARY="$work/evil.so" \
				GANGWAY_NVIDIA_ML_LIBRARY="$work/evil.so" GANGWAY_TRACE="$work/theirs/trace" \
				GANGWAY_NULL_LOG="$work/theirs/null" GANGWAY_STATS=1 \
				$user "$1" "$work/lib/${library%:*}" "${library#*:}" >"$work/said" 2>&1
			[ $? -le 1 ] || { echo "$1 ${library%:*} ended with an error:"; cat "$work/said"; status=1; }
		done
	done
}
# The variables work for an ordinary program; else the test would prove nothing.
start "$work/plain"
[ -e "$work/theirs/loaded" ] && [ -e "$work/theirs/trace" ] || { echo "the variables have no effect at all"; status=1; }
rm -f "$work"/theirs/*
start "$work/setuid"
for file in "$work"/theirs/*; do
	[ -e "$file" ] && { echo "the set-uid program obeyed: $(ls -l "$file")"; status=1; }
done
# No library of ours reads a variable in any other way.  libgangway-jit.so contains LLVM, which does; a set-uid program
# never loads it (compiler_allowed in src/ptx/jit/service.c).
for library in "$build"/lib/gangway/*.so "$build"/lib/gangway/cpu/*.so*; do
	[ "${library##*/}" != libgangway-jit.so ] || continue
	! nm -D --undefined-only "$library" 2>/dev/null | grep -qw 'U getenv' || { echo "$library calls getenv"; status=1; }
done
exit $status
