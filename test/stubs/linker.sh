# Functions for the other scripts. `linker NAME` sets $use to the compiler option that selects the linker, or skips the test.
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
	"$cc" "$use" -o "$out/try" "$out/try.c" 2>"$out/log" || { echo "skipped: $cc does not accept $use: $(head -n 1 "$out/log")"; exit 77; }
}

# Check a linked program: cuInit succeeds under gangway run and returns CUDA_ERROR_STUB_LIBRARY with the stub.
try() {
	name=$1 program=$2
	readelf -d "$program" | grep -E 'R(UN)?PATH.*stubs' && fail "$name: the RUNPATH of the program contains the folder of the stubs"
	said=$("$prefix/bin/gangway" run --on null -- "$program" 2>&1)
	[ "$said" = "cuInit 0" ] || fail "$name: under gangway run: got: $said; expected: cuInit 0"
	said=$(LD_LIBRARY_PATH=$prefix/lib/gangway/stubs "$program" 2>&1)
	[ "$said" = "cuInit 34" ] || fail "$name: with the stub: got: $said; expected: cuInit 34"
}
