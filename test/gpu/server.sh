# Sourced by scripts of this folder: a server of this machine's GPU.  $gangway and $out are the caller's.
server=
serve() { # address: it is $address when it listens
	: >"$out/log" # what the server before said is not this one's
	"$gangway" serve --on nvidia --listen "$1" 2>"$out/log" &
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
