#!/bin/sh
# Mistakes of a new user: the messages name the mistake and what to write instead. messages.sh GANGWAY PROBE
# PROBE calls cuInit and prints the result.
gangway=$1
readme=$(cd "$(dirname "$0")/../.." && pwd)/README.md
probe=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset GANGWAY_DEVICE GANGWAY_CPU_CC GANGWAY_EXPLAIN CUDA_VISIBLE_DEVICES
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
says() { # status, text that the output must contain, arguments of gangway
	status=$1
	text=$2
	shift 2
	"$gangway" "$@" >"$work/out" 2>&1 </dev/null
	got=$?
	[ "$got" = "$status" ] || fail "gangway $*: status $got, expected $status: $(cat "$work/out")"
	grep -qF -e "$text" "$work/out" || fail "gangway $*: got: $(cat "$work/out"); expected: $text"
}
silent_about() { # text that the last output must not contain
	grep -qF -e "$1" "$work/out" && fail "the output contains $1: $(cat "$work/out")"
}

# Options with one dash, misspelt options, missing and superfluous values.
for command in run doctor serve smi cdi top; do
	says 2 'unknown option -on; did you mean --on?' $command -on cpu
done
says 2 'unknown option -o; did you mean --on?' run -o cpu true
says 2 'unknown option --follow-al1; did you mean --follow-all?' run --follow-al1 true
says 2 'unknown option --dely; did you mean --delay?' top --dely 3
says 2 'unknown option -xyz' run -xyz true
says 2 'unknown option -xyz' serve --on cpu -xyz
says 2 'option --on needs a value' run --on
says 2 'option --help takes no value' run --help=x

# Commands.
says 2 'unknown command doctr; did you mean gangway doctor?' doctr
says 2 'option --on must follow a command' --on cpu true
for command in run doctor serve smi cdi top version install uninstall config coverage; do
	says 0 "usage: gangway $command" help $command
done
says 0 'usage: gangway COMMAND' help
says 2 'unknown command bogus' help bogus

# Devices: every command lists them.
for command in run smi doctor; do
	says 2 'there is no device bogus. The devices are:' $command --on bogus true
	for device in nvidia cpu null unix:PATH tcp://HOST:PORT; do
		grep -q "^  $device  " "$work/out" || fail "gangway $command --on bogus does not list $device"
	done
done
silent_about 'Driver Not Loaded'
says 2 'there is no device gpu; did you mean nvidia?' run --on gpu true
says 2 'there is no device CPU; did you mean cpu?' run --on CPU true
says 2 'there is no device cuda:0; did you mean nvidia?' run --on cuda:0 true
says 2 'did you mean unix:/run/gangway.sock?' run --on /run/gangway.sock true
says 2 'did you mean tcp://gpubox:7070?' run --on gpubox:7070 true
says 2 'did you mean tcp://localhost:7070?' run --on tcp:localhost:7070 true
says 2 'option --on needs a value' smi --on
says 2 'unexpected argument cpu; did you mean --on cpu?' serve cpu
says 2 'unexpected argument cpu; did you mean --on cpu?' smi cpu
says 1 'tcp://localhost:99999: the port is a number from 1 to 65535' run --on tcp://localhost:99999 true
says 1 'tcp://localhost:abc: the port is a number from 1 to 65535' run --on tcp://localhost:abc true
says 1 "did you mean tcp://127.0.0.1:7070?" serve --on null --listen 7070
says 1 "did you mean tcp://127.0.0.1:7070?" serve --on null --listen :7070
says 1 "did you mean tcp://localhost:7070?" serve --on null --listen localhost:7070
says 1 "did you mean unix:/run/s?" serve --on null --listen /run/s
says 1 "'bogus' is not an address: use unix:PATH or tcp://HOST:PORT" serve --on null --listen bogus
GANGWAY_DEVICE=bogus says 9 'use nvidia, cpu, null, unix:PATH or tcp://HOST:PORT' smi
GANGWAY_NVIDIA_LIBRARY=$work/none says 1 'gangway serve --on cpu' serve --listen "unix:$work/socket"
says 9 "$work/none: No such file or directory" smi --on "unix:$work/none"

# GANGWAY_CPU_CC
for setting in 8 13.0; do
	GANGWAY_CPU_CC=$setting says 9 "GANGWAY_CPU_CC=$setting is invalid: set one of 5.0 5.2 " smi --on cpu -L
	GANGWAY_CPU_CC=$setting GANGWAY_TRACE=1 says 0 ' 12.0 12.1' run --on cpu "$probe"
done
says 0 'GANGWAY_CPU_CC=' run --help
GANGWAY_DEVICE_MEMORY=lots says 9 'GANGWAY_DEVICE_MEMORY=lots is invalid: set a number from 1 to 281474976710656, or a size such as 8G' smi --on cpu
grep -q GANGWAY_CPU_CC "$readme" || fail "README.md does not mention GANGWAY_CPU_CC"

# Files that cannot be started.
cd "$work" || exit 1
echo 'print(1)' >script.py
echo 'int main() { return 0; }' >source.cu
printf '#!/bin/sh\n' >program-here && chmod +x program-here
says 127 'give the program and its arguments as separate words' run --on null 'ls -l'
says 126 'use gangway run python3 ./script.py' run --on null ./script.py
says 127 'use gangway run python3 script.py' run --on null script.py
says 126 'compile it with nvcc first' run --on null ./source.cu
says 127 'use gangway run ./program-here' run --on null program-here

says 2 'there is no process 999999999' doctor --pid 999999999
for major in 12 13; do
	says 0 "cpu/libcublas.so.$major  same build" version
done
exit $failed
