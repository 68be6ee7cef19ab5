#!/bin/sh
# Clients send an image once: a second client that loads the same bytes sends only their hash.  A file of the store that was
# replaced, as by a worker that its client has taken over, is not used: the next client sends the image again.
# sent-once.sh BUILD PROGRAM
build=$1 program=$2
dir=$(mktemp -d) || exit 1
: >"$dir/log"
export XDG_CACHE_HOME="$dir/cache" GANGWAY_STATS=1
"$build/bin/gangway" serve --on null --listen "unix:$dir/socket" 2>"$dir/log" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$dir"' EXIT
tenths=600
until grep -q listening "$dir/log"; do
	[ $((tenths -= 1)) -gt 0 ] && kill -0 $server 2>/dev/null || { echo "the server does not start: $(cat "$dir/log")"; exit 1; }
	sleep 0.1
done
load() { # CLIENT
	"$build/bin/gangway" run --on "unix:$dir/socket" -- "$program" 2>"$dir/$1" || { cat "$dir/$1" "$dir/log"; exit 1; }
}
load first
load second
grep -q WIRE_IMAGE "$dir/first" || { echo "the first client sent no image"; cat "$dir/first"; exit 1; }
grep -q WIRE_LOAD "$dir/second" || { echo "GANGWAY_STATS printed no WIRE_LOAD for the second client"; exit 1; }
! grep WIRE_IMAGE "$dir/second" || { echo "the second client sent an image again"; exit 1; }
[ "$(stat -c %a "$dir/cache/gangway/images")" = 700 ] || { echo "the mode of the image cache is not 700"; exit 1; }

# Replace one byte, or the end; size and name stay.  Each time the following client must send the image and repair the file.
file=$(find "$dir/cache/gangway/images" -type f -size +1000k)
cp "$file" "$dir/image"
for place in 0 20 1048575; do
	printf '!' | dd of="$file" bs=1 seek=$place conv=notrunc 2>/dev/null
	cmp -s "$file" "$dir/image" && { echo "the file did not change"; exit 1; }
	load "replaced$place"
	grep -q WIRE_IMAGE "$dir/replaced$place" || { echo "a worker used an image with a false byte at $place"; exit 1; }
	cmp "$file" "$dir/image" || { echo "the store still has the false image"; exit 1; }
done
[ "$(grep -c 'does not match its name' "$dir/log")" = 3 ] || { echo "the log does not report a false image"; cat "$dir/log"; exit 1; }
load last
! grep WIRE_IMAGE "$dir/last" || { echo "a client sent a repaired image again"; exit 1; }
