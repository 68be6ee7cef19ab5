#!/bin/sh
# Check what doctor reports for a set-up with a known problem: run.sh BUILD CASE
#
# cases/CASE.sh builds the set-up under $root with the functions below and calls doctor. cases/CASE.golden is the expected
# output. doctor gets only the environment that the case sets. UPDATE=1 rewrites the golden file; check the difference.
build=$1 case=$2
here=$(cd "$(dirname "$0")" && pwd)
lib=$build/lib/gangway
made=$build/test/doctor/made # fixtures, see CMakeLists.txt
dir=$(mktemp -d) || exit 1
root=$dir/root
gangway=$build/bin/gangway
bin=$dir/bin # first on the PATH of doctor
mkdir "$bin"
ln -s "$gangway" "$bin/gangway"
printf '#!/bin/sh\nexec "$@"\n' >"$bin/sudo"
chmod +x "$bin/sudo"
servers=
trap 'kill $servers 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
status=none

skip() {
	echo "skipped: $*"
	exit 77
}
fail() {
	echo "FAIL: $*"
	exit 1
}
put() { # FIXTURE PATH: copy a built fixture
	mkdir -p "$root$(dirname "$2")"
	cp "$1" "$root$2" || fail "cannot copy $1"
}
text() { # PATH LINE...: write a file
	path=$root$1
	shift
	mkdir -p "$(dirname "$path")"
	printf '%s\n' "$@" >"$path"
}
link() { # TARGET PATH
	mkdir -p "$root$(dirname "$2")"
	ln -s "$1" "$root$2"
}
cache() { # NAME PATH [FLAGS]...: lines on stdin become the loader's cache
	mkdir -p "$root/etc"
	"$made/../doctor-mkcache" >"$root/etc/ld.so.cache"
}
# A Debian-like machine without CUDA.
machine() {
	mkdir -p "$root/usr/lib/x86_64-linux-gnu" "$root/lib" "$root/dev/shm" "$root/home/user" "$root/proc" "$root/sys/bus/pci/devices"
	text /etc/ld.so.conf 'include /etc/ld.so.conf.d/*.conf'
	text /etc/ld.so.conf.d/libc.conf /usr/local/lib
	cache </dev/null
}
gpu() { # DRIVER ("" for none): one on the PCI bus
	pci=/sys/bus/pci/devices/0000:01:00.0
	text $pci/vendor 0x10de
	text $pci/device 0x2330
	text $pci/class 0x030200
	[ -z "$1" ] && return
	mkdir -p "$root/sys/bus/pci/drivers/$1"
	link "../../drivers/$1" $pci/driver
}
# waiter NAME=VALUE... -- COMMAND...: run in the background until the test ends; $waiting is its pid.
waiter() {
	mkfifo "$dir/in"
	variables=
	while [ "$1" != -- ]; do
		variables="$variables '$1'"
		shift
	done
	shift
	eval "env -i HOME=/home/user PATH='$bin:$PATH' $variables \"\$@\" <'$dir/in' >'$dir/ready' 2>&1 &"
	waiting=$!
	servers="$servers $waiting"
	exec 8>"$dir/in"
	tries=600
	until grep -qs ready "$dir/ready"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "the waiter does not start: $(cat "$dir/ready")"
		sleep 0.1
	done
}
# Put a dynamically linked program, and its loader, into the set-up.
program() { # FIXTURE PATH
	put "$made/$1" "$2"
	mkdir -p "$root/lib64"
	: >"$root/lib64/ld-linux-x86-64.so.2"
}
ollama() { # a, b or c: an Ollama of this generation, installed as a service
	program "ollama-$1" /usr/local/bin/ollama
	put "$made/ggml-cuda.so" /usr/local/lib/ollama/cuda_v12/libggml-cuda.so
	put "$made/cudart12.so" /usr/local/lib/ollama/cuda_v12/libcudart.so.12
	shift
	text /etc/systemd/system/ollama.service '[Unit]' 'Description=Ollama Service' '' '[Service]' 'ExecStart=/usr/local/bin/ollama serve' \
		'User=root' 'Environment="PATH=/usr/bin:/bin"' '' '[Install]' 'WantedBy=default.target'
	[ $# = 0 ] || text /etc/systemd/system/ollama.service.d/override.conf '[Service]' "$@"
}
serve() { # PATH in $root, further options: start a server and wait until it listens
	mkdir -p "$root$(dirname "$1")"
	path=$1
	shift
	: >"$dir/log"
	"$build/bin/gangway" serve --on null --listen "unix:$root$path" "$@" 2>"$dir/log" &
	servers="$servers $!"
	tries=600
	until grep -q 'listening on' "$dir/log"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "the server does not start: $(cat "$dir/log")"
		sleep 0.1
	done
}
# doctor NAME=VALUE... -- ARGUMENTS: run doctor with this environment.
doctor() {
	variables=
	while [ "$1" != -- ]; do
		variables="$variables '$1'"
		shift
	done
	shift
	eval "env -i HOME=/home/user PATH='$bin:$PATH' $variables '$(command -v timeout)' 120 '$gangway' doctor \"\$@\"" \
		>"$dir/out" 2>"$dir/err"
	status=$?
}
# look NAME=VALUE... -- ARGUMENTS: run doctor --root on the set-up.
look() {
	words=
	while [ "$1" != -- ]; do
		words="$words '$1'"
		shift
	done
	shift
	eval "doctor $words -- --root '$root' \"\$@\""
}

# shellcheck source=/dev/null
. "$here/cases/$case.sh"

version=$("$build/bin/gangway" version | head -n 1)
{
	echo "exit status $status"
	cat "$dir/err" "$dir/out"
} | sed -e "s|$dir|DIR|g" -e "s|$build|BUILD|g" -e "s|$version|THIS-BUILD|g" | sed -f "$here/varies.sed" >"$dir/said"
if [ -n "$UPDATE" ]; then
	cp "$dir/said" "$here/cases/$case.golden"
	cat "$dir/said"
	exit 0
fi
diff -u "$here/cases/$case.golden" "$dir/said" || fail "the output for $case differs from the golden file"
grep -q '^wrong' "$dir/said" || exit 0
# Every problem has a command that fixes it.
awk '/^(wrong|look|fine|fact)  / { if (wrong && !fixed) exit 1; wrong = /^wrong/; fixed = 0 } /^ *fix: ./ { fixed = 1 }
	END { if (wrong && !fixed) exit 1 }' "$dir/said" || fail "a problem has no command that fixes it"
