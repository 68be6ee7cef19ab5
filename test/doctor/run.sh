#!/bin/sh
# A set-up that is broken on purpose, and what doctor says of it: run.sh BUILD CASE
#
# cases/CASE.sh builds the set-up under $root with the words below and calls doctor; cases/CASE.golden is what is said.
# Environment: only what the case sets. UPDATE=1 writes the golden anew: read what changed before you keep it.
build=$1 case=$2
here=$(cd "$(dirname "$0")" && pwd)
lib=$build/lib/gangway
made=$build/test/doctor/made # fixtures, see CMakeLists.txt
dir=$(mktemp -d) || exit 1
root=$dir/root
gangway=$build/bin/gangway
bin=$dir/bin # on the PATH of whoever asks
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
put() { # FIXTURE PATH: a copy of what was built
	mkdir -p "$root$(dirname "$2")"
	cp "$1" "$root$2" || fail "no $1"
}
text() { # PATH LINE...: a file of these lines
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
# A machine like Debian's, with nothing of CUDA in it.
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
# waiter NAME=VALUE... -- COMMAND...: in the background until the test ends; $waiting is its process.
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
		[ $tries -gt 0 ] || fail "it does not start: $(cat "$dir/ready")"
		sleep 0.1
	done
}
# A program that the loader starts, in the set-up: what it is started by is there, too.
program() { # FIXTURE PATH
	put "$made/$1" "$2"
	mkdir -p "$root/lib64"
	: >"$root/lib64/ld-linux-x86-64.so.2"
}
ollama() { # a, b or c: as its installer leaves it, with a service
	program "ollama-$1" /usr/local/bin/ollama
	put "$made/ggml-cuda.so" /usr/local/lib/ollama/cuda_v12/libggml-cuda.so
	put "$made/cudart12.so" /usr/local/lib/ollama/cuda_v12/libcudart.so.12
	shift
	text /etc/systemd/system/ollama.service '[Unit]' 'Description=Ollama Service' '' '[Service]' 'ExecStart=/usr/local/bin/ollama serve' \
		'User=root' 'Environment="PATH=/usr/bin:/bin"' '' '[Install]' 'WantedBy=default.target'
	[ $# = 0 ] || text /etc/systemd/system/ollama.service.d/override.conf '[Service]' "$@"
}
serve() { # PATH in $root, further options: a server, ready
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
# doctor NAME=VALUE... -- ARGUMENTS: in the set-up, with this environment.
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
# look NAME=VALUE... -- ARGUMENTS: in the folder alone, nothing started.
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
diff -u "$here/cases/$case.golden" "$dir/said" || fail "doctor says something else of $case"
grep -q '^wrong' "$dir/said" || exit 0
# What is wrong ends in a command.
awk '/^(wrong|look|fine|fact)  / { if (wrong && !fixed) exit 1; wrong = /^wrong/; fixed = 0 } /^ *fix: ./ { fixed = 1 }
	END { if (wrong && !fixed) exit 1 }' "$dir/said" || fail "something is wrong and nothing is said to fix it"
