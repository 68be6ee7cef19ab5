#!/bin/sh
# Check that two builds of one commit are identical, independent of their folders: twice.sh SOURCE
#
# Builds two clones at different paths, of different depth, at different times, without a compiler cache.
source=$1
commit=$(git -C "$source" rev-parse -q --verify HEAD 2>/dev/null) || { echo "skipped: $source is not a git repository"; exit 77; }
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
unset SOURCE_DATE_EPOCH

build() { # FOLDER
	mkdir -p "$(dirname "$1")"
	git clone -q "$source" "$1" || exit 1
	(cd "$1" && git checkout -q "$commit" && CCACHE_DISABLE=1 cmake --preset package && CCACHE_DISABLE=1 cmake --build build-package -j"$(nproc)" &&
		tools/package.sh build-package dist) >"$out/log" 2>&1 || { tail -n 40 "$out/log"; exit 1; }
}
build "$out/one"
(umask 027; build "$out/two/somewhere/else")
cat "$out/one/dist/SHA256SUMS"
cmp "$out/one/dist/SHA256SUMS" "$out/two/somewhere/else/dist/SHA256SUMS" && exit 0
echo "FAIL: the packages differ, in:"
mkdir "$out/a" "$out/b"
tar -C "$out/a" -xzf "$out"/one/dist/*.tar.gz
tar -C "$out/b" -xzf "$out"/two/somewhere/else/dist/*.tar.gz
diff -rq "$out/a" "$out/b"
for side in a b; do
	(cd "$out/$side" && find . -printf '%p %m %s %T@ %l\n' | sort) >"$out/$side.list"
done
diff "$out/a.list" "$out/b.list"
exit 1
