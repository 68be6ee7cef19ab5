# A server with another protocol.
machine
mkdir -p "$root/run"
"$made/../doctor-oldserver" "$root/run/gangway.sock" >"$dir/ready" &
servers=$!
tries=600
until grep -qs ready "$dir/ready"; do # the socket exists before the server listens
	tries=$((tries - 1))
	[ $tries -gt 0 ] || fail "the server does not listen"
	sleep 0.1
done
look GANGWAY_DEVICE=unix:/run/gangway.sock --
