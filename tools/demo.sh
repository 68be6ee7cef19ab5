#!/bin/sh
# demo.sh BUILD: an unmodified CUDA program draws a picture through Gangway: on the processor, then through a server over
# shared memory and over TCP.
build=$(cd "$1" && pwd) || exit 1
gangway=$build/bin/gangway
out=$build/demo
mkdir -p "$out"
work=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

bold=$([ -t 1 ] && printf '\033[1m') plain=$([ -t 1 ] && printf '\033[0m')
title() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
shell() { # text to show, command
	printf '$ %s\n' "$1"
	shift
	"$@"
}

toolkit=$(tools/toolkit.sh "$(pwd)/build/toolkit")
if [ -z "$toolkit" ]; then
	title "No nvcc: running demo/vectoradd.c, which loads PTX through the driver API"
	cmake --build "$build" --target gangway-smoke >/dev/null || exit 1
	shell "gangway run --on cpu vectoradd" "$gangway" run --on cpu -- "$build/lib/gangway/vectoradd"
	exit
fi

title "nvcc builds demo/picture.cu, an ordinary CUDA program"
shell "nvcc -o picture demo/picture.cu" "$toolkit/bin/nvcc" -Wno-deprecated-gpu-targets -o "$work/picture" demo/picture.cu || exit 1

title "1. On this machine's processor, from the PTX in the program"
shell "gangway run --on cpu ./picture -o picture.png" \
	"$gangway" run --on cpu -- "$work/picture" -o "$out/picture.png" || exit 1

# Start a server for the clients below. Port 0 selects a free port; the log contains its number.
"$gangway" serve --on cpu --listen "unix:$work/gangway.sock" --listen tcp://127.0.0.1:0 2>"$work/log" &
server=$!
tries=0
until tcp=$(sed -n 's,.*\(tcp://[0-9.:]*\).*,\1,p' "$work/log" | head -n 1) && [ -n "$tcp" ] && [ -S "$work/gangway.sock" ]; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] && kill -0 $server 2>/dev/null || { cat "$work/log"; exit 1; }
	sleep 0.1
done

again() { # number, transport, address
	title "$1. $2"
	printf '$ gangway run --on %s ./picture -o picture.png\n' "$3"
	"$gangway" run --on "$3" -- "$work/picture" -o "$work/$1.png" >"$work/text" || { cat "$work/text"; exit 1; }
	tail -n 1 "$work/text"
	if cmp -s "$out/picture.png" "$work/$1.png"; then
		echo "The same picture, byte for byte."
	else
		echo "The picture differs from the first one." && exit 1
	fi
}
again 2 "Through a server, over shared memory" "unix:$work/gangway.sock"
again 3 "Through the same server, over TCP" "$tcp"

title "4. The device while a client uses it"
"$gangway" run --on "$tcp" -- "$work/picture" -s 2 >/dev/null &
client=$!
sleep 1
shell "gangway smi --on $tcp" "$gangway" smi --on "$tcp"
wait $client

printf '\nThe picture is in %s. No GPU was involved.\n' "$out/picture.png"
