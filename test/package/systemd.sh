#!/bin/sh
# Check the package's service under systemd, with its sandbox: systemd.sh BUILD
#
# podman and runc boot a small Debian in a container. The only change to the service: it serves the CPU device. Members
# of the group compute over shared memory; other users are refused; the service restarts, stops and leaves no socket.
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
	{ echo "skipped: cannot start a container here: $(tail -n 1 "$out/log")"; exit 77; }
state=
for i in $(seq 60); do
	state=$(inside systemctl is-system-running)
	case $state in running | degraded) break ;; esac
	sleep 1
done
case $state in
running | degraded) ;;
*) echo "skipped: systemd does not start in a container here: $state"; exit 77 ;;
esac

inside sh -c 'dpkg -i /root/*.deb' >"$out/log" || { cat "$out/log"; fail "dpkg -i failed"; }
inside id gangway || fail "the package does not create the user gangway"
[ "$(inside systemctl is-enabled gangway)" = disabled ] || fail "the package enables the service"
inside systemctl enable --now gangway || fail "the service does not start"
inside useradd -G gangway member
inside useradd stranger
run='gangway run --on unix:/run/gangway.sock /usr/lib/gangway/vectoradd'
as member "$run" | grep -q 'sums are correct' || fail "a member of the group cannot use the service"
as stranger "$run" | grep -q 'Permission denied' || fail "a user outside the group is not refused"
inside journalctl -u gangway --no-pager | grep -q 'connected (shared memory' || fail "the client does not use shared memory"
# Another service as client, in an equally strict sandbox.
inside systemd-run --wait --pipe --quiet -p User=member -p NoNewPrivileges=yes -p PrivateDevices=yes -p PrivateNetwork=yes \
	-p PrivateTmp=yes -p PrivateUsers=yes -p ProtectSystem=strict -p ProtectHome=yes -p ProtectProc=invisible -p ProcSubset=pid \
	-p RestrictAddressFamilies=AF_UNIX -p RestrictNamespaces=yes -p MemoryDenyWriteExecute=yes -p LimitMEMLOCK=0 \
	-p SystemCallFilter=@system-service -p CapabilityBoundingSet= $run | grep -q 'sums are correct' || fail "a sandboxed service cannot use the service"
[ "$(inside journalctl -u gangway --no-pager | grep -c 'connected (shared memory')" = 2 ] || fail "the sandboxed service does not use shared memory"
inside systemctl restart gangway || fail "the service does not restart"
as member "$run" | grep -q 'sums are correct' || fail "the service does not work after a restart"
inside systemctl stop gangway || fail "the service does not stop"
[ "$(inside systemctl is-failed gangway)" = inactive ] || fail "the service fails when it stops"
inside test -e /run/gangway.sock && fail "/run/gangway.sock remains after the stop"
[ $failed = 0 ] || inside journalctl -u gangway --no-pager
exit $failed
