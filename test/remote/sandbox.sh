#!/bin/sh
# A sandboxed client needs only the socket to use the server over shared memory: sandbox.sh BUILD SERVED TRANSPORT PROGRAM
#
# The sandbox has no capabilities, no network, no device files, a PID namespace, an empty /tmp as its only writable folder,
# and a memlock limit of 0.  The client runs as another user (as services do), and in a user namespace made by that user
# (as Flatpak and browsers do).
. "$(dirname "$0")/faults.sh"
program=$client
"$(dirname "$0")/../helper/package.sh" bwrap bubblewrap || exit
[ "$(id -u)" = 0 ] || { echo "skipped: only root can change its user"; exit 77; }
nobody='setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all'
$nobody true || { echo "skipped: setpriv does not work here"; exit 77; }

# Copy the build: other users may not have access to the build folder.
mkdir -p "$dir/gangway/bin" "$dir/gangway/lib/gangway"
cp "$gangway" "$dir/gangway/bin/"
cp -a "$build"/lib/gangway/libcuda.so* "$build"/lib/gangway/libgangway-*.so "$program" "$dir/gangway/lib/gangway/"
chmod -R a+rX "$dir"
serve --group "$(id -gn 65534 2>/dev/null || echo nogroup)"
[ $failed = 0 ] || finish
address=$GANGWAY_DEVICE
unset GANGWAY_DEVICE

box="--die-with-parent --new-session --ro-bind / / --dev /dev --proc /proc --tmpfs /run --tmpfs /tmp --chdir /tmp
	--ro-bind $dir/gangway /tmp/gangway --ro-bind ${address#unix:} /tmp/socket"
uses="prlimit --memlock=0 --nofile=64 /tmp/gangway/bin/gangway run --on unix:/tmp/socket /tmp/gangway/lib/gangway/$(basename "$program")"
try() { # LABEL COMMAND...
	how=$1
	shift
	before=$(grep -c 'connected (shared memory' "$dir/log")
	timeout 120 "$@" >"$dir/out" 2>&1 || fail "$how: status $?"
	grep -q 'sums are correct' "$dir/out" || fail "$how: $(cat "$dir/out")"
	[ "$(grep -c 'connected (shared memory' "$dir/log")" -gt "$before" ] || fail "$how: the client did not connect over shared memory"
}
# shellcheck disable=SC2086
bwrap --unshare-pid --unshare-net $box true 2>"$dir/out" || { echo "skipped: bwrap does not work here: $(cat "$dir/out")"; exit 77; }
# shellcheck disable=SC2086
try "as another user" bwrap --unshare-pid --unshare-ipc --unshare-uts --unshare-net $box $nobody $uses
if $nobody bwrap --unshare-user --ro-bind / / true 2>/dev/null; then
	# shellcheck disable=SC2086
	try "in a user namespace" $nobody bwrap --unshare-all --uid 1000 --gid 1000 $box $uses
else
	echo "note: user nobody cannot create user namespaces here"
fi
finish
