#!/bin/sh
# Clients send an image once: a second client that loads the same bytes sends only their hash.  sent-once.sh BUILD PROGRAM
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
for client in first second; do
	"$build/bin/gangway" run --on "unix:$dir/socket" -- "$program" 2>"$dir/$client" || { cat "$dir/$client" "$dir/log"; exit 1; }
done
grep -q WIRE_IMAGE "$dir/first" || { echo "the first client sent no image"; cat "$dir/first"; exit 1; }
grep -q WIRE_LOAD "$dir/second" || { echo "GANGWAY_STATS printed no WIRE_LOAD for the second client"; exit 1; }
! grep WIRE_IMAGE "$dir/second" || { echo "the second client sent an image again"; exit 1; }
[ "$(stat -c %a "$dir/cache/gangway/images")" = 700 ] || { echo "the mode of the image cache is not 700"; exit 1; }
