#!/bin/sh
# On a machine with a GPU: sweeps of sizes, types and shapes through NVIDIA's libraries (sweep.py), and PyTorch's database of
# operators (operators.py), give the same results natively and served by another process.
#
#	test/gpu/sweep.sh BUILD [DEVICE...]		DEVICE: nvidia, unix, tcp; default unix and tcp.  native
#						repeats the native run: what differs there, differs by itself
#	ONLY="fft operators"				default all sweeps
. "$(dirname "$0")/common.sh"
shift
[ $# -gt 0 ] || set -- unix tcp
export CUPY_CACHE_DIR="$out/cupy" PYTHONDONTWRITEBYTECODE=1
sweeps=${ONLY:-fft cupy_fft blas solver sparse random algorithms cudnn operators}
for module in torch cupy; do
	python3 -c "import $module" 2>/dev/null || { echo "skipped: $module is not installed"; exit 77; }
done

compute() { # sweep, where, command prefix...
	what=$1 where=$2
	shift 2
	if [ "$what" = operators ]; then
		set -- "$@" python3 "$here/operators.py"
	else
		set -- "$@" python3 "$here/sweep.py" "$what"
	fi
	timeout 170 "$@" >"$out/$where.$what" 2>"$out/$where.$what.err"
}

for what in $sweeps; do
	compute "$what" native env || { echo "FAIL  $what natively: status $?"; tail -n 5 "$out/native.$what.err"; failed=1; }
done
for device; do
	case $device in
	native) prefix=env ;;
	nvidia) prefix="$gangway run --on nvidia --" ;;
	*)
		serve "$device"
		prefix="$gangway run --on $address --"
		;;
	esac
	for what in $sweeps; do
		compute "$what" "$device" $prefix
		status=$?
		if [ $status = 0 ] && cmp -s "$out/native.$what" "$out/$device.$what"; then
			echo "ok    $device: $what: $(wc -l <"$out/native.$what") cases the same"
		else
			echo "FAIL  $device: $what: status $status, $(diff "$out/native.$what" "$out/$device.$what" | grep -c '^>') of" \
				"$(wc -l <"$out/native.$what") cases differ"
			diff "$out/native.$what" "$out/$device.$what" | head -n 20
			tail -n 3 "$out/$device.$what.err"
			failed=1
		fi
	done
	stop
done
exit $failed
