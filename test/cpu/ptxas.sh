#!/bin/sh
# Check the ptxas that gangway run offers on the CPU device: ptxas.sh GANGWAY PROGRAM
#
# The device runs the output of this ptxas. Its messages, exit status and version have the forms that Triton and XLA look for.
# The environment leads to it on the CPU device only.
gangway=$1
program=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
fail() { echo "FAIL: $*"; failed=1; }
cat >good.ptx <<END
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 42; ret; }
END
sed 's/st.global/frobnicate/' good.ptx >wrong.ptx
sed 's/sm_80/sm_90/' good.ptx >newer.ptx
sed 's/\.version 8\.0/.version 99.99/' good.ptx >future.ptx
run() { "$gangway" run --on cpu -- "$@"; }
unset TRITON_PTXAS_PATH CUPY_CACHE_DIR NUMBA_CACHE_DIR GANGWAY_KEEP

run ptxas -lineinfo -v --fmad=false --opt-level 0 -maxrregcount 32 --gpu-name=sm_80 good.ptx -o good.cubin 2>log || fail "$(cat log)"
grep -q "Compiling entry function 'k' for 'sm_80'" log || fail "-v does not list the kernel: $(cat log)"
"$program" good.cubin 42 || fail "the device does not run the output of ptxas"
refuses() { # file, options, expected message
	run ptxas $2 "$1" -o out.cubin 2>log && fail "ptxas accepts $1"
	status=$?
	grep -q "$3" log || fail "the message about $1: $(cat log)"
	[ -e out.cubin ] && fail "an output of $1 exists"
}
refuses wrong.ptx -arch=sm_80 "^ptxas wrong.ptx, line 4; error   : .*'frobnicate"
refuses newer.ptx -arch=sm_80 '^ptxas fatal   : SM version specified by .target is higher'
refuses future.ptx -arch=sm_80 "Unsupported .version 99.99; current version is '9.0'"
refuses none.ptx -arch=sm_80 "^ptxas fatal   : Input file 'none.ptx' could not be opened"
refuses good.ptx -arch=ampere "^ptxas fatal   : Value 'ampere' is not defined for option 'gpu-name'"
run ptxas -arch=sm_80 wrong.ptx 2>/dev/null
[ $? = 255 ] || fail "the status is not 255"
run ptxas --version | grep -q '^Cuda compilation tools, release 13\.0, V13\.0\.' || fail "the version: $(run ptxas --version)"

lib=$(cd "$(dirname "$gangway")/../lib/gangway" && pwd)
[ "$(run printenv TRITON_PTXAS_PATH)" = "$lib/cpu/bin/ptxas" ] || fail "Triton's variable is $(run printenv TRITON_PTXAS_PATH)"
[ "$(CUPY_CACHE_DIR=/a run printenv CUPY_CACHE_DIR)" = /a/gangway-cpu ] || fail "CuPy has no cache folder of its own"
[ "$(CUPY_CACHE_DIR=/a run "$gangway" run --on cpu -- printenv CUPY_CACHE_DIR)" = /a/gangway-cpu ] || fail "gangway run inside gangway run appends the folder twice"
"$gangway" run --on null -- printenv TRITON_PTXAS_PATH NUMBA_CACHE_DIR GANGWAY_KEEP_PTX && fail "null gets the stand-ins"
GANGWAY_KEEP=ptxas run printenv TRITON_PTXAS_PATH && fail "GANGWAY_KEEP=ptxas has no effect"
exit $failed
