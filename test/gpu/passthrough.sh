#!/bin/sh
# On a machine with a vendor driver: programs run through Gangway's pass-through as they do natively.
#
#	test/gpu/passthrough.sh BUILD
. "$(dirname "$0")/common.sh"
run="$gangway run --on nvidia"
check() { # title, command...
	title=$1
	shift
	if "$@" >"$out/log" 2>&1; then
		echo "ok    $title: $(tail -n 1 "$out/log")"
	else
		echo "FAIL  $title ($?)"
		tail -n 8 "$out/log"
		failed=1
	fi
}
has() { grep -q "$1" "$2"; }

"$gangway" version
nvidia-smi -L
check "linked directly, --on nvidia" $run -- "$build/test/gpu/gpu-driver"
check "linked directly, device chosen by default" env GANGWAY_DEVICE= "$gangway" run -- "$build/test/gpu/gpu-driver"
check "entry points by cuGetProcAddress, as the runtime loads them" $run -- python3 "$here/addresses.py"
GANGWAY_TRACE="$out/trace" check "linked directly, with a trace" $run -- "$build/test/gpu/gpu-driver"
check "the trace has the launch" has 'cuLaunchKernel(.*) = CUDA_SUCCESS' "$out/trace"
check "PyTorch" $run -- python3 -c 'import torch; x = torch.arange(1000, device="cuda"); print((x * x).sum().item()); assert (x * x).sum().item() == 332833500'
GANGWAY_TRACE="$out/trace2" check "PyTorch with a trace" $run -- python3 -c 'import torch; x = torch.ones(1000, device="cuda"); assert x.sum().item() == 1000; print("sum right")'
check "the runtime's launches are traced" has 'cuLaunchKernel(.*) = CUDA_SUCCESS' "$out/trace2"
check "our library was in the process" $run -- python3 -c 'import torch; torch.ones(1, device="cuda"); m = open("/proc/self/maps").read(); n = len({l.split()[-1] for l in m.splitlines() if "libcuda.so" in l}); print(n, "libcuda files mapped"); assert "lib/gangway/libcuda.so" in m and n == 2'
exit $failed
