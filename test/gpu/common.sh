# Sourced by the scripts in this folder, whose first argument is a build. Sets $build, $here, $gangway, $failed and $out
# (the output folder), and defines a function that starts a server for this machine's GPU. SERVE: further options of the
# server; UNDER: a command that runs it; ON: another device.
build=$(cd "${1:?which build folder?}" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
gangway=$build/bin/gangway
out=$(mktemp -d) || exit 1
trap 'stop; rm -rf "$out"' EXIT
failed=0
server=
serve() { # unix or tcp: sets $address when the server listens
	[ "$1" = tcp ] && address=tcp://127.0.0.1:0 || address=unix:$out/socket
	: >"$out/log" # discard the previous server's log
	$UNDER "$gangway" serve --on "${ON:-nvidia}" --listen "$address" $SERVE 2>"$out/log" &
	server=$!
	until grep -q 'listening on' "$out/log"; do
		kill -0 $server 2>/dev/null || { cat "$out/log"; exit 1; }
		sleep 0.1
	done
	address=$(sed -n 's/.*listening on //p' "$out/log" | head -n 1)
}
stop() {
	[ -n "$server" ] || return 0
	kill -9 $server 2>/dev/null
	wait $server 2>/dev/null
	server=
}
