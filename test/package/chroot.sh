#!/bin/sh
# Check package and tarball in a minimal Debian without compiler and CUDA: chroot.sh BUILD
#
# The package is installed, used as root and as nobody, and purged without leftovers; then the same with the tarball.
build=$1
here=$(cd "$(dirname "$0")" && pwd)
base=$("$here/bare.sh") || exit
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}

root=$out/root
mkdir "$root"
tar -C "$root" -xf "$base" || exit 1

# in_root COMMAND...: run with /proc, in a mount namespace of its own
in_root() {
	unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
in_root true || { echo "skipped: cannot create a chroot with /proc here"; exit 77; }
listing() {
	(cd "$root" && find . -path ./proc -prune -o -path ./var -prune -o -path ./tmp -prune -o -path ./dev/shm -prune -o -print | sort)
}

"$here/../../tools/package.sh" "$build" "$out/dist" >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
cp "$out"/dist/* "$root/tmp/"
listing >"$out/before"

in_root sh -c 'dpkg -i /tmp/gangway_*.deb' >"$out/log" 2>&1 || { cat "$out/log"; fail "dpkg -i failed"; }
in_root gangway version || fail "the command is not in PATH"
in_root /usr/share/gangway/smoke.sh || fail "the package's smoke test failed as root"
in_root su -s /bin/sh nobody -c /usr/share/gangway/smoke.sh || fail "the package's smoke test failed as nobody"
in_root /sbin/ldconfig -p | grep gangway && fail "the package puts the libraries on the default run-time path"
in_root gangway install --system --yes >"$out/log" 2>&1 || { cat "$out/log"; fail "gangway install failed"; }
in_root /sbin/ldconfig -p | grep -q 'libcuda.so.1 .*gangway' || fail "the loader does not find libcuda.so.1 after gangway install"
in_root dpkg --purge gangway >"$out/log" 2>&1 || { cat "$out/log"; fail "dpkg --purge failed"; }
listing | diff "$out/before" - || fail "files remain after dpkg --purge"

in_root sh -c 'mkdir -p /opt && tar -C /opt -xzf /tmp/gangway-*.tar.gz && mv /opt/gangway-* /opt/gangway' || fail "cannot unpack the tarball"
in_root /opt/gangway/share/gangway/smoke.sh || fail "the tarball's smoke test failed as root"
in_root su -s /bin/sh nobody -c /opt/gangway/share/gangway/smoke.sh || fail "the tarball's smoke test failed as nobody"
exit $failed
