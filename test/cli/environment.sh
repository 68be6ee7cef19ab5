#!/bin/sh
# Check the environment that gangway run sets: environment.sh GANGWAY
gangway=$1
lib=$(cd "$(dirname "$gangway")/../lib/gangway" && pwd)
failed=0
expect() { # name, actual value, expected value
	[ "$2" = "$3" ] || { echo "FAIL: $1 is $2, expected $3"; failed=1; }
}
ours=$lib/libgangway-audit.so
case $(getconf GNU_LIBC_VERSION) in
*\ 2.[12]? | *\ 2.3[0-4]) ;;
*) ours=$lib/libgangway-follow.so:$ours ;;
esac
unset LD_LIBRARY_PATH LD_AUDIT GANGWAY_EXPLAIN GLIBC_TUNABLES
show() { "$gangway" run --on null -- "$@"; }
expect "a path" "$(show printenv LD_LIBRARY_PATH)" "$lib"
expect "audit" "$(show printenv LD_AUDIT)" "$ours"
tls=glibc.rtld.optional_static_tls
show printenv GLIBC_TUNABLES | grep -qE "^$tls=[0-9]{4}$" || { echo "FAIL: GLIBC_TUNABLES does not reserve thread-local storage"; failed=1; }
expect "more of it" "$(GLIBC_TUNABLES=a.b.c=1:$tls=99999:d.e.f=2 show printenv GLIBC_TUNABLES)" "$tls=99999:a.b.c=1:d.e.f=2"
expect "explain" "$(show printenv GANGWAY_EXPLAIN)" 1
expect "a path before" "$(LD_LIBRARY_PATH=/a:/b show printenv LD_LIBRARY_PATH)" "$lib:/a:/b"
expect "twice" "$(show "$gangway" run -- printenv LD_LIBRARY_PATH LD_AUDIT)" "$lib
$ours"
# LD_AUDIT is set by a shell, so that gangway itself is not audited.
other='"$0" run -- printenv LD_AUDIT'
GLIBC_TUNABLES=$tls=2000000 # enough for a gangway built with a sanitizer
export GLIBC_TUNABLES
expect "another's audit library" "$(sh -c "LD_AUDIT=/nosuch/other.so $other" "$gangway" 2>/dev/null)" "$ours:/nosuch/other.so"
expect "another Gangway's" "$(sh -c "LD_AUDIT=/x/libgangway-audit.so:/nosuch/other.so:/x/libgangway-follow.so $other" "$gangway" 2>/dev/null)" "$ours:/nosuch/other.so"
exit $failed
