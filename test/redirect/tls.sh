#!/bin/sh
# Check programs whose libraries need static thread-local storage, as allocators and sanitizers do: with audit libraries,
# ld.so has less of it: tls.sh GANGWAY PROGRAMS
gangway=$1
out=$2
cc=${CC:-cc}
lib=$(cd "$(dirname "$gangway")/../lib/gangway" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LD_AUDIT GLIBC_TUNABLES
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
program() { # name, bytes
	echo "__thread char big[$2] __attribute__((tls_model(\"initial-exec\"))); char *where(void) { return big; }" >"$work/$1.c"
	$cc -shared -fPIC -o "$work/lib$1.so" "$work/$1.c" -Wl,-soname,"lib$1.so" &&
		$cc -o "$work/$1" "$work/main.c" "$work/lib$1.so" "-Wl,-rpath,$work" -lpthread || exit 1
	"$work/$1" || fail "the test itself: $1 does not run"
}
# With a thread whose stack is the smallest that POSIX had for long.
cat >"$work/main.c" <<'C'
#include <pthread.h>
char *where(void);
static void *thread(void *arg) { return (where()[100] = 1) ? arg : 0; }
int main(void)
{
	pthread_attr_t a;
	pthread_t t;
	if (pthread_attr_init(&a) || (SMALL && pthread_attr_setstacksize(&a, 16384)) || pthread_create(&t, &a, thread, 0))
		return 1;
	return pthread_join(t, 0) || where()[100];
}
C
sed -i 's/SMALL/1/' "$work/main.c"
program allocator 3000
sed -i 's/(1 \&\&/(0 \&\&/' "$work/main.c"
program sanitizer 800000

LD_AUDIT=$lib/libgangway-audit.so "$work/sanitizer" 2>/dev/null && echo "note: this ld.so has room by itself"
for p in allocator sanitizer; do
	"$gangway" run --on null -- "$work/$p" || fail "$p does not start under gangway run"
done
# Started by a script, and by a program that makes a new environment: there is room for an allocator.
"$gangway" run --on null -- sh -c "$work/allocator" || fail "a script cannot start it"
"$gangway" run --on null -- "$out/launch" /nosuch "$work/allocator" || fail "with a new environment it does not start"
# What such a script starts and has no room for, doctor names, and what helps.
said=$("$gangway" doctor --on null -- sh -c "$work/sanitizer" 2>/dev/null) && fail "doctor finds nothing wrong"
helps=$(echo "$said" | sed -n 's/.*fix: \(GLIBC_TUNABLES=.*\)/\1/p')
case $said in
*'sanitizer['*'could not start'*) GANGWAY_DEVICE=null sh -c "${helps:-false}" || fail "what doctor says does not help: $helps" ;;
*) [ -z "$("$gangway" run --on null -- sh -c "$work/sanitizer" 2>&1)" ] || fail "doctor says: $said" ;;
esac
said=$("$gangway" doctor --on null -- sh -c "$work/allocator" 2>/dev/null) || fail "doctor says of an allocator: $said"
exit $failed
