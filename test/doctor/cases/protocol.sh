# A server with another protocol.
machine
mkdir -p "$root/run"
"$made/../doctor-oldserver" "$root/run/gangway.sock" >"$dir/ready" &
servers=$!
tries=600
until grep -qs ready "$dir/ready"; do # the socket is there before anybody listens
	tries=$((tries - 1))
	[ $tries -gt 0 ] || fail "no socket"
	sleep 0.1
done
look GANGWAY_DEVICE=unix:/run/gangway.sock --
