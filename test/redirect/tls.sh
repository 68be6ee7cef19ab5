#!/bin/sh
# Check programs whose libraries need static thread-local storage: tls.sh GANGWAY PROGRAMS
#
# Allocators and sanitizers need static TLS, and ld.so has less of it when audit libraries are loaded.
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
program() { # name, bytes of static TLS
	echo "__thread char big[$2] __attribute__((tls_model(\"initial-exec\"))); char *where(void) { return big; }" >"$work/$1.c"
	$cc -shared -fPIC -o "$work/lib$1.so" "$work/$1.c" -Wl,-soname,"lib$1.so" &&
		$cc -o "$work/$1" "$work/main.c" "$work/lib$1.so" "-Wl,-rpath,$work" -lpthread || exit 1
	"$work/$1" || fail "test setup: $1 does not run without Gangway"
}
# The allocator program starts a thread with a stack of 16 KiB, the traditional PTHREAD_STACK_MIN.
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

LD_AUDIT=$lib/libgangway-audit.so "$work/sanitizer" 2>/dev/null && echo "note: this ld.so has enough static TLS without a tunable"
for p in allocator sanitizer; do
	"$gangway" run --on null -- "$work/$p" || fail "$p does not start under gangway run"
done
# A program that a script starts, or that gets a new environment, has enough static TLS for an allocator.
"$gangway" run --on null -- sh -c "$work/allocator" || fail "a script cannot start the allocator program"
"$gangway" run --on null -- "$out/launch" /nosuch "$work/allocator" || fail "the allocator program does not start with a new environment"
# gangway doctor names a program of a script that lacks static TLS, and prints a fix that works.
said=$("$gangway" doctor --on null -- sh -c "$work/sanitizer" 2>/dev/null) && fail "gangway doctor reports no problem for the sanitizer program"
helps=$(echo "$said" | sed -n 's/.*fix: \(GLIBC_TUNABLES=.*\)/\1/p')
case $said in
*'sanitizer['*'could not start'*) GANGWAY_DEVICE=null sh -c "${helps:-false}" || fail "the fix that gangway doctor prints does not work: $helps" ;;
*) [ -z "$("$gangway" run --on null -- sh -c "$work/sanitizer" 2>&1)" ] || fail "gangway doctor does not name the sanitizer program: $said" ;;
esac
said=$("$gangway" doctor --on null -- sh -c "$work/allocator" 2>/dev/null) || fail "gangway doctor reports a problem for the allocator program: $said"
exit $failed
