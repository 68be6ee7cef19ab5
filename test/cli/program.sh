#!/bin/sh
# What gangway run says of programs that it cannot give libraries to, and of files that are no programs:
# program.sh GANGWAY
gangway=$1
cc=${CC:-cc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
unset GANGWAY_EXPLAIN
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
says() { # status, a piece of the one line on stderr ("" for none), command
	status=$1
	piece=$2
	shift 2
	"$@" >"$work/out" 2>"$work/err"
	got=$?
	[ "$got" = "$status" ] || fail "$*: status $got, not $status: $(cat "$work/err")"
	if [ -z "$piece" ]; then
		[ ! -s "$work/err" ] || fail "$*: says $(cat "$work/err")"
		return
	fi
	[ "$(grep -c . "$work/err")" = 1 ] || fail "$*: not one line but: $(cat "$work/err")"
	grep -qF -e "$piece" "$work/err" || fail "$*: $(cat "$work/err"), not: $piece"
}
run() { # status, piece, program and arguments
	s=$1
	p=$2
	shift 2
	says "$s" "$p" "$gangway" run --on null -- "$@"
}
script() { # file, lines
	file=$1
	shift
	printf '%s\n' "$@" >"$file"
	chmod 755 "$file"
}
cd "$work" || exit 1
echo 'int main(int n, char **v) { (void)v; return n == 2 ? 7 : 0; }' >program.c
$cc -o dynamic program.c || exit 1

# As it should be: nothing is said.
run 7 "" ./dynamic x
run 0 "" "$(readelf -lW dynamic | sed -n 's/.*interpreter: \(.*\)]/\1/p')" "$work/dynamic"
script plain.sh '#!/bin/sh' 'exit 3'
run 3 "" ./plain.sh
script bare.sh 'exit 4'
run 4 "" ./bare.sh

# No such file, not a program.
run 127 "nosuchprogram: No such file" nosuchprogram
run 127 "./nosuchprogram: No such file" ./nosuchprogram
run 126 "Not a directory" ./program.c/plain.txt
echo text >plain.txt
run 126 "plain.txt: Permission denied" ./plain.txt
run 126 "Permission denied" "$work"
: >empty && chmod 755 empty
run 0 "" ./empty

# Static, started directly, by a script, by env.
if $cc -static -o static program.c 2>/dev/null; then
	run 7 "is linked statically" ./static x
	script static.sh "#!$work/static"
	run 7 "/static is linked statically" ./static.sh
	script static-env.sh '#!/usr/bin/env static'
	PATH=$work:$PATH run 7 "/static is linked statically" ./static-env.sh
	script static-envs.sh '#!/usr/bin/env -S A=1 static'
	PATH=$work:$PATH run 7 "/static is linked statically" ./static-envs.sh
	script chain.sh "#!$work/static.sh"
	run 0 "/static is linked statically" ./chain.sh
	$cc -static-pie -o static-pie program.c 2>/dev/null && run 7 "is linked statically" ./static-pie x
	GANGWAY_EXPLAIN=0 run 7 "" ./static x
else
	echo "note: no static libc to test with"
fi

# Interpreters that are not there.
script lost.sh '#!/nosuch/interpreter'
run 126 "interpreter /nosuch/interpreter is not here" ./lost.sh
script lost-env.sh '#!/usr/bin/env nosuchinterpreter'
run 126 "interpreter nosuchinterpreter is not here" ./lost-env.sh
$cc -o lost program.c -Wl,-dynamic-linker,/nosuch/ld.so.9 && run 126 "loader /nosuch/ld.so.9 is not here" ./lost
script loop.sh "#!$work/loop.sh"
run 126 "Too many levels" ./loop.sh

# musl: a loader by that name.
cp "$(readelf -lW dynamic | sed -n 's/.*interpreter: \(.*\)]/\1/p')" ld-musl-test.so.1
$cc -o musl program.c "-Wl,-dynamic-linker,$work/ld-musl-test.so.1" && run 7 "musl's loader" ./musl x

# Another machine, other bits.  The kernel would not start them either, but it would not say why.
printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0' >thirty-two && head -c 100 /dev/zero >>thirty-two
printf '\177ELF\2\2\1\0\0\0\0\0\0\0\0\0\0\2\0\25\0\0\0\1' >big && head -c 100 /dev/zero >>big
chmod 755 thirty-two big
run 126 "is a program for 32 bits" ./thirty-two
run 126 "is a program for another processor" ./big

# Set-id and capabilities count for users that gain something by them.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -p prefix/bin prefix/lib/gangway
	cp "$gangway" prefix/bin/ && cp "$(dirname "$gangway")"/../lib/gangway/libgangway-audit.so "$(dirname "$gangway")"/../lib/gangway/libgangway-follow.so prefix/lib/gangway/
	as_nobody() { # status, piece, program
		s=$1
		p=$2
		shift 2
		says "$s" "$p" setpriv --reuid=65534 --regid=65534 --clear-groups "$work/prefix/bin/gangway" run --on null -- "$@"
	}
	if setpriv --reuid=65534 --regid=65534 --clear-groups "$work/prefix/bin/gangway" version >/dev/null 2>&1; then
		cp dynamic setuid && chmod 4755 setuid
		as_nobody 0 "is set-uid" ./setuid
		cp dynamic setgid && chmod 2755 setgid
		as_nobody 0 "is set-uid, set-gid" ./setgid
		run 0 "" ./setuid # root gains nothing
		cp dynamic capable && setcap cap_net_raw+ep capable 2>/dev/null && as_nobody 0 "has capabilities" ./capable
		as_nobody 0 "" ./dynamic
	fi
else
	echo "note: set-uid programs were not tested: only root can"
fi

# An installation where no library path can lead.
mkdir -p "odd:name/bin" "odd:name/lib/gangway" && cp "$gangway" "odd:name/bin/"
says 1 "takes no folder with" "$work/odd:name/bin/gangway" run --on null -- ./dynamic
mkdir -p lonely/bin && cp "$gangway" lonely/bin/
says 1 "is the installation complete" "$work/lonely/bin/gangway" run --on null -- ./dynamic
exit $failed
