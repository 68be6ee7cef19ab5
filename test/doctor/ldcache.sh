#!/bin/sh
# Check that our reader of ld.so.cache agrees with ldconfig, for this machine's cache and for generated ones:
# ldcache.sh READER MKCACHE
reader=$1 mkcache=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
cat >"$dir/want" <<-EOF
	libcuda.so.1 /opt/v3/libcuda.so.1 hwcap x86-64-v3
	libcuda.so.1 /opt/libcuda.so.1
	libcuda.so.1 /opt/lib32/libcuda.so.1 foreign
EOF
for form in "" --compat; do
	"$mkcache" $form >"$dir/cache" <<-EOF
		libcuda.so.1 /opt/v3/libcuda.so.1 0x303 x86-64-v3
		libcuda.so.1 /opt/libcuda.so.1
		libcuda.so.1 /opt/lib32/libcuda.so.1 0x003
	EOF
	"$reader" "$dir/cache" >"$dir/got"
	diff "$dir/want" "$dir/got" || fail "a generated cache ($form) differs from ldconfig's output"
	ldconfig=$(PATH=$PATH:/sbin:/usr/sbin command -v ldconfig) || continue
	"$ldconfig" -C "$dir/cache" -p | grep -q 'hwcap: "x86-64-v3"' || fail "ldconfig rejects the generated cache ($form)"
done
: >"$dir/empty"
"$reader" "$dir/empty" >/dev/null && fail "an empty file is accepted as a cache"
head -c 40 "$dir/cache" >"$dir/cut"
"$reader" "$dir/cut" >/dev/null && fail "a truncated cache is accepted"
mkfifo "$dir/fifo"
timeout 60 "$reader" "$dir/fifo" >/dev/null
[ $? = 1 ] || fail "the reader blocks on a pipe"

[ -n "$ldconfig" ] && [ -r /etc/ld.so.cache ] || { [ $failed = 0 ] && echo "skipped: no ldconfig or no cache to compare with"; exit $((failed ? 1 : 77)); }
# Compare a copy: another test may install something and change the cache.
cp /etc/ld.so.cache "$dir/cache"
"$ldconfig" -C "$dir/cache" -p | sed -n 's/^\t\([^ ]*\) .* => \(.*\)/\1 \2/p' >"$dir/want"
"$reader" >/dev/null || fail "this machine's cache cannot be read"
"$reader" "$dir/cache" | awk '{ print $1, $2 }' >"$dir/got"
[ -s "$dir/want" ] && diff "$dir/want" "$dir/got" || fail "this machine's cache differs from ldconfig's output"
exit $failed
