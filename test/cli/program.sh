#!/bin/sh
# Check the errors and warnings of gangway run for files that are not programs and for programs that cannot load our
# libraries: program.sh GANGWAY
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
says() { # status, part of the single line on stderr ("" for no output), command
	status=$1
	piece=$2
	shift 2
	"$@" >"$work/out" 2>"$work/err"
	got=$?
	[ "$got" = "$status" ] || fail "$*: status $got, expected $status: $(cat "$work/err")"
	if [ -z "$piece" ]; then
		[ ! -s "$work/err" ] || fail "$*: unexpected output: $(cat "$work/err")"
		return
	fi
	[ "$(grep -c . "$work/err")" = 1 ] || fail "$*: expected one line, got: $(cat "$work/err")"
	grep -qF -e "$piece" "$work/err" || fail "$*: got: $(cat "$work/err"), expected: $piece"
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

# Ordinary programs: no message.
run 7 "" ./dynamic x
run 0 "" "$(readelf -lW dynamic | sed -n 's/.*interpreter: \(.*\)]/\1/p')" "$work/dynamic"
script plain.sh '#!/bin/sh' 'exit 3'
run 3 "" ./plain.sh
script bare.sh 'exit 4'
run 4 "" ./bare.sh

# Missing files, and files that are not programs.
run 127 "nosuchprogram: No such file" nosuchprogram
run 127 "./nosuchprogram: No such file" ./nosuchprogram
run 126 "Not a directory" ./program.c/plain.txt
echo text >plain.txt
run 126 "plain.txt: Permission denied" ./plain.txt
run 126 "Permission denied" "$work"
: >empty && chmod 755 empty
run 0 "" ./empty

# A static program, started directly, by a script and by env.
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
	echo "note: static programs are not tested: no static libc"
fi

# Missing interpreters.
script lost.sh '#!/nosuch/interpreter'
run 126 "interpreter /nosuch/interpreter does not exist" ./lost.sh
script lost-env.sh '#!/usr/bin/env nosuchinterpreter'
run 126 "interpreter nosuchinterpreter does not exist" ./lost-env.sh
$cc -o lost program.c -Wl,-dynamic-linker,/nosuch/ld.so.9 && run 126 "loader /nosuch/ld.so.9 does not exist" ./lost
script loop.sh "#!$work/loop.sh"
run 126 "Too many levels" ./loop.sh

# musl: a loader with musl's name.
cp "$(readelf -lW dynamic | sed -n 's/.*interpreter: \(.*\)]/\1/p')" ld-musl-test.so.1
$cc -o musl program.c "-Wl,-dynamic-linker,$work/ld-musl-test.so.1" && run 7 "musl's loader" ./musl x

# Another processor, and 32 bits. The kernel refuses them, too, but does not say why.
printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0' >thirty-two && head -c 100 /dev/zero >>thirty-two
printf '\177ELF\2\2\1\0\0\0\0\0\0\0\0\0\0\2\0\25\0\0\0\1' >big && head -c 100 /dev/zero >>big
chmod 755 thirty-two big
run 126 "it is a 32-bit program" ./thirty-two
run 126 "it is for another processor" ./big

# Set-id bits and capabilities matter only to users who gain privileges by them.
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
		run 0 "" ./setuid # root gains no privileges
		cp dynamic capable && setcap cap_net_raw+ep capable 2>/dev/null && as_nobody 0 "has capabilities" ./capable
		as_nobody 0 "" ./dynamic
	fi
else
	echo "note: set-uid programs are not tested: root is needed"
fi

# An installation in a folder that cannot be in LD_LIBRARY_PATH, and one without libraries.
mkdir -p "odd:name/bin" "odd:name/lib/gangway" && cp "$gangway" "odd:name/bin/"
says 1 "contains : ; or" "$work/odd:name/bin/gangway" run --on null -- ./dynamic
mkdir -p lonely/bin && cp "$gangway" lonely/bin/
says 1 "the installation is incomplete" "$work/lonely/bin/gangway" run --on null -- ./dynamic
exit $failed
