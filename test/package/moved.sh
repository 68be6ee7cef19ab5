#!/bin/sh
# Check that the contents of the tarball and of the Debian package work in any folder: moved.sh BUILD
build=$1
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
for tool in dpkg-deb xz gzip; do
	command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

"$here/../../tools/package.sh" "$build" "$out/dist" >"$out/log" 2>&1 || { cat "$out/log"; fail "tools/package.sh failed"; exit 1; }
(cd "$out/dist" && sha256sum -c SHA256SUMS >/dev/null) || fail "SHA256SUMS does not match"

mkdir "$out/a b" "$out/deb"
tar -C "$out/a b" -xzf "$out"/dist/*.tar.gz || fail "cannot unpack the tarball"
mv "$out/a b"/gangway-* "$out/a b/it is here"
"$out/a b/it is here/share/gangway/smoke.sh" || fail "the tarball's smoke test failed"
said=$("$out/a b/it is here/run" --on cpu "$out/a b/it is here/lib/gangway/vectoradd" 2>&1) || fail "the tarball's run script failed: $said"

dpkg-deb -x "$out"/dist/*.deb "$out/deb" || fail "cannot unpack the Debian package"
"$out/deb/usr/share/gangway/smoke.sh" || fail "the package's smoke test failed"
dpkg-deb -I "$out"/dist/*.deb | grep -q 'Depends: libc6 (>= 2\.[0-9]*)' || fail "the package does not depend on libc6"
# These files are the same in both.
for file in bin/gangway lib/gangway/libcuda.so.1 lib/cmake/Gangway/GangwayConfig.cmake share/gangway/smoke.sh; do
	cmp "$out/a b/it is here/$file" "$out/deb/usr/$file" || fail "$file differs"
done
if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error,warning "$out"/dist/*.deb || fail "lintian reports problems"
fi
exit $failed
