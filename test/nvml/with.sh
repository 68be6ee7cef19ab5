#!/bin/sh
# with.sh GANGWAY DEVICE [NAME=VALUE...] PROGRAM...: runs PROGRAM on DEVICE, alone: no process of another test is
# seen.  DEVICE may be "unix" or "tcp", with the device behind it: "unix:cpu", which a server is started for.
set -u
gangway=$1 device=$2
shift 2
dir=$(mktemp -d) || exit 1
server=
finish() {
	[ -z "$server" ] || kill -9 "$server" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' TERM INT
mkdir -m 700 "$dir/usage"
export GANGWAY_USAGE="$dir/usage"
case $device in
unix:* | tcp:*)
	on=${device#*:}
	case $device in
	unix:*) address=unix:$dir/socket ;;
	*) address=tcp://127.0.0.1:0 ;;
	esac
	settings=
	for word; do
		case $word in
		[A-Z]*=*) settings="$settings $word" ;;
		*) break ;;
		esac
	done
	env $settings "$gangway" serve --on "$on" --listen "$address" 2>"$dir/log" &
	server=$!
	tries=0
	until grep -q listening "$dir/log"; do
		tries=$((tries + 1))
		if [ $tries -gt 600 ] || ! kill -0 $server 2>/dev/null; then
			echo "no server:"
			cat "$dir/log"
			exit 1
		fi
		sleep 0.05
	done
	device=$(sed -n 's/.*listening on //p' "$dir/log" | head -n 1)
	;;
esac
env GANGWAY_DEVICE="$device" "$@"
status=$?
[ $status -eq 0 ] || [ -z "$server" ] || cat "$dir/log"
exit $status
