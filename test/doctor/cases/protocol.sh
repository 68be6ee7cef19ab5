# A server of another build listens there.
machine
mkdir -p "$root/run"
"$made/../doctor-oldserver" "$root/run/gangway.sock" &
servers=$!
tries=100
until [ -S "$root/run/gangway.sock" ]; do
	tries=$((tries - 1))
	[ $tries -gt 0 ] || fail "no socket"
	sleep 0.1
done
look GANGWAY_DEVICE=unix:/run/gangway.sock --
