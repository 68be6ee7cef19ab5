#!/bin/sh
# Check the package's service under systemd, with its sandbox: systemd.sh BUILD
#
# In a container of podman and runc that boots a small Debian. The only change: it serves the CPU device. Members of
# the group compute, over shared memory; others are turned away; it restarts, stops and leaves no socket.
build=$1
here=$(cd "$(dirname "$0")" && pwd)
for pair in 'podman podman' 'runc runc'; do
	sh "$here/../helper/package.sh" $pair || exit
done
base=$("$here/bare.sh" systemd systemd-sysv dbus) || exit
out=$(mktemp -d) || exit 1
engine() {
	timeout 100 podman --log-level error --root "$out/storage" --runroot "$out/runroot" --tmpdir "$out/tmp" \
		--storage-driver vfs --cgroup-manager cgroupfs --runtime runc "$@"
}
box=gangway-systemd-$$
trap 'engine rm -f -t 2 "$box" >/dev/null 2>&1; rm -rf "$out"' EXIT
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
inside() {
	engine exec "$box" "$@" 2>&1
}
as() {
	inside su -s /bin/sh "$1" -c "$2"
}

"$here/../../tools/package.sh" "$build" "$out/dist" >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
mkdir -p "$out/root"
tar -C "$out/root" -xf "$base" || exit 1
cp "$out"/dist/*.deb "$out/root/root/"
mkdir -p "$out/root/etc/systemd/system/gangway.service.d"
cat >"$out/root/etc/systemd/system/gangway.service.d/cpu.conf" <<'UNIT'
[Service]
ExecStart=
ExecStart=/usr/bin/gangway serve --on cpu --listen unix:/run/gangway/gangway.sock --group gangway
UNIT
engine run -d --name "$box" --systemd=always --privileged --network=none --ulimit nofile=20000:20000 \
	--ulimit nproc=1000:1000 --rootfs "$out/root" /sbin/init >"$out/log" 2>&1 ||
	{ echo "skipped: this machine starts no container: $(tail -n 1 "$out/log")"; exit 77; }
state=
for i in $(seq 60); do
	state=$(inside systemctl is-system-running)
	case $state in running | degraded) break ;; esac
	sleep 1
done
case $state in
running | degraded) ;;
*) echo "skipped: systemd does not come up in a container here: $state"; exit 77 ;;
esac

inside sh -c 'dpkg -i /root/*.deb' >"$out/log" || { cat "$out/log"; fail "dpkg -i"; }
inside id gangway || fail "the package makes no user"
[ "$(inside systemctl is-enabled gangway)" = disabled ] || fail "the package enables the service"
inside systemctl enable --now gangway || fail "it does not start"
inside useradd -G gangway member
inside useradd stranger
run='gangway run --on unix:/run/gangway.sock /usr/lib/gangway/vectoradd'
as member "$run" | grep -q 'all right' || fail "a member of the group cannot use it"
as stranger "$run" | grep -q 'Permission denied' || fail "a stranger can use it"
inside journalctl -u gangway --no-pager | grep -q 'connected (shared memory' || fail "not over shared memory"
# A service that uses it, in as narrow a sandbox.
inside systemd-run --wait --pipe --quiet -p User=member -p NoNewPrivileges=yes -p PrivateDevices=yes -p PrivateNetwork=yes \
	-p PrivateTmp=yes -p PrivateUsers=yes -p ProtectSystem=strict -p ProtectHome=yes -p ProtectProc=invisible -p ProcSubset=pid \
	-p RestrictAddressFamilies=AF_UNIX -p RestrictNamespaces=yes -p MemoryDenyWriteExecute=yes -p LimitMEMLOCK=0 \
	-p SystemCallFilter=@system-service -p CapabilityBoundingSet= $run | grep -q 'all right' || fail "not from a service in a sandbox"
[ "$(inside journalctl -u gangway --no-pager | grep -c 'connected (shared memory')" = 2 ] || fail "that was not over shared memory"
inside systemctl restart gangway || fail "it does not restart"
as member "$run" | grep -q 'all right' || fail "not after a restart"
inside systemctl stop gangway || fail "it does not stop"
[ "$(inside systemctl is-failed gangway)" = inactive ] || fail "it does not stop in peace"
inside test -e /run/gangway.sock && fail "the socket's name is left behind"
[ $failed = 0 ] || inside journalctl -u gangway --no-pager
exit $failed
