# Functions for the other scripts: `linker NAME` sets $use, or skips the test.
here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}

linker() {
	case $1 in
	bfd | gold) sh "$here/../helper/package.sh" "ld.$1" binutils || exit ;;
	lld) sh "$here/../helper/package.sh" ld.lld lld || exit ;;
	mold) sh "$here/../helper/package.sh" mold mold || exit ;;
	esac
	use=-fuse-ld=$1
	echo 'int main(void) { return 0; }' >"$out/try.c"
	"$cc" "$use" -o "$out/try" "$out/try.c" 2>"$out/log" || { echo "skipped: $cc does not take $use: $(head -n 1 "$out/log")"; exit 77; }
}

# A program that was linked: runs on our driver, not on the stub; with the stub it says so.
try() {
	name=$1 program=$2
	readelf -d "$program" | grep -E 'R(UN)?PATH.*stubs' && fail "$name: the stubs are on its run-time path"
	said=$("$prefix/bin/gangway" run --on null -- "$program" 2>&1)
	[ "$said" = "cuInit 0" ] || fail "$name: with gangway run it said: $said"
	said=$(LD_LIBRARY_PATH=$prefix/lib/gangway/stubs "$program" 2>&1)
	[ "$said" = "cuInit 34" ] || fail "$name: with the stub it said: $said"
}
