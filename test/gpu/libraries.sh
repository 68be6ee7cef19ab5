#!/bin/sh
# On a machine with a GPU: NVIDIA's libraries (through test/gpu/libraries.cu), CuPy, Triton, JAX and PyTorch compute the
# same results natively, passed through, and served by another process over shared memory and over TCP.
#
#	test/gpu/libraries.sh BUILD [DEVICE...]		DEVICE: nvidia, unix, tcp; default all three
. "$(dirname "$0")/common.sh"
shift
[ $# -gt 0 ] || set -- nvidia unix tcp
# XLA and cuDNN select algorithms by timing, and the algorithms round differently: disable the selection.
export XLA_FLAGS=--xla_gpu_autotune_level=0
export TRITON_CACHE_DIR="$out/triton" CUPY_CACHE_DIR="$out/cupy" PYTHONDONTWRITEBYTECODE=1

compute() { # program, where, command prefix...
	what=$1 where=$2
	shift 2
	case $what in
	toolkit) "$@" "$out/libraries" >"$out/$where.$what" 2>&1 ;;
	prints*) "$@" stdbuf -o0 "$out/$what" >"$out/$where.$what" 2>&1 ;;
	*) timeout 150 "$@" python3 "$here/libraries.py" "$what" >"$out/$where.$what" 2>"$out/$where.$what.err" ;;
	esac || { [ ! -s "$out/$where.$what.err" ] || tail -n 5 "$out/$where.$what.err"; return 1; }
}

# Use the toolkit's libraries or, if the toolkit has none, those of the Python packages.
libraries="-lcublas -lcufft -lcusolver -lcusparse -lcurand"
if ! echo '#include <cusolverDn.h>' | nvcc -x cu -E - >/dev/null 2>&1; then
	libraries=$(python3 - <<'PYTHON'
import glob, site
folders = site.getsitepackages() + [site.getusersitepackages()]
files = [f for folder in folders for name in ("cublas", "cufft", "cusolver", "cusparse", "curand")
         for f in glob.glob(f"{folder}/nvidia/**/lib{name}.so.*", recursive=True)]
roots = sorted({f.rsplit("/lib/", 1)[0] for f in files})
print(*files, *(f"-I{r}/include -Xlinker -rpath={r}/lib -Xlinker -rpath-link={r}/lib" for r in roots))
PYTHON
	)
fi
programs=
nvcc -O1 -std=c++17 -arch=native -o "$out/libraries" "$here/libraries.cu" $libraries && programs=toolkit || failed=1
nvcc -O1 -std=c++17 -arch=native -o "$out/prints" "$here/prints.cu" && programs="$programs prints" || failed=1
nvcc -O1 -std=c++17 -arch=native -rdc=true -o "$out/prints_linked" "$here/prints_linked.cu" -lcudadevrt &&
	programs="$programs prints_linked" || failed=1
for what in torch cupy triton jax; do
	python3 -c "import $what" 2>/dev/null && programs="$programs $what" || echo "skip  $what is not installed"
done
for what in $programs; do
	compute $what native env || { echo "FAIL  $what natively"; tail -n 5 "$out/native.$what"; }
done
for device; do
	[ $device = nvidia ] && address=nvidia || serve $device
	for what in $programs; do
		if compute $what $device "$gangway" run --on "$address" -- && cmp -s "$out/native.$what" "$out/$device.$what"; then
			echo "ok    $device: $what: $(wc -l <"$out/native.$what") results the same"
		else
			echo "FAIL  $device: $what"
			diff "$out/native.$what" "$out/$device.$what"
			failed=1
		fi
	done
	stop
done
exit $failed
