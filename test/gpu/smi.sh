#!/bin/sh
# On a machine with a vendor driver: the vendor's nvidia-smi prints the same natively, with our NVML passed through, and
# with our NVML over a server (unix and TCP), value by value, except for values that change by themselves.
#
#	test/gpu/smi.sh BUILD
#
# Also checks the functions that PyTorch, nvtop, btop and vLLM need, measures the first answers, and compares gangway
# smi with nvidia-smi. No other program should use the GPUs meanwhile. Returns 77 if nvidia-smi is missing.
. "$(dirname "$0")/common.sh"
compare=$here/smi_compare.py
command -v nvidia-smi >/dev/null || { echo "skipped: nvidia-smi is not installed"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }

say() { # ok or FAIL, text
	echo "$1  $2"
	[ "$1" = ok ] || failed=1
}
arguments() { # kind of output: print the options of nvidia-smi, one per line
	case $1 in
	list) echo -L ;;
	table) ;;
	q) echo -q ;;
	xml) printf '%s\n' -q -x ;;
	csv) printf '%s\n' --query-gpu="$fields" --format=csv ;;
	esac
}
smi() { # kind of output, command prefix...: print the output
	what=$1
	shift
	set -- "$@" timeout 60 nvidia-smi
	for option in $(arguments "$what"); do
		set -- "$@" "$option"
	done
	"$@"
}
ask() { # where, command prefix...: write all outputs to files
	where=$1
	shift
	for what in list table q xml csv; do
		smi $what "$@" >"$out/$where.$what" 2>&1
		echo $? >"$out/$where.$what.status"
	done
}
explain() { # where, kind, command prefix...: show the calls of a failed run
	where=$1 what=$2
	shift 2
	echo "    natively:"
	head -n 12 "$out/native.$what" | sed 's/^/      /'
	echo "    $where, status $(cat "$out/$where.$what.status"):"
	head -n 12 "$out/$where.$what" | sed 's/^/      /'
	[ $# -eq 0 ] && return
	export GANGWAY_TRACE="$out/trace"
	smi "$what" "$@" >/dev/null 2>&1
	unset GANGWAY_TRACE
	echo "    failed calls, and the last calls:"
	grep -E 'private table|NVML_ERROR_(INVALID|NO_PERM|GPU_IS|UNK|FUNC|UNINIT|MEM|INSUFF|ARG)' "$out/trace" | sed 's/^/      /' | head -n 20
	tail -n 5 "$out/trace" | sed 's/^/      /'
	rm -f "$out/trace"
}
compare() { # where, command...
	where=$1
	shift
	cmp -s "$out/native.list" "$out/$where.list" && say ok "$where: -L" || { say FAIL "$where: -L"; explain "$where" list "$@"; }
	for what in table q xml csv; do
		python3 "$compare" $what "$out/native.$what" "$out/again.$what" "$out/$where.$what" >"$out/result"
		status=$?
		[ "$(cat "$out/$where.$what.status")" = 0 ] && [ $status -eq 0 ] && say ok "$where: $what" || say FAIL "$where: $what"
		cat "$out/result"
		[ "$(cat "$out/$where.$what.status")" = 0 ] && [ $status -eq 0 ] || explain "$where" $what "$@"
	done
}
torch() { # where, device
	python3 -c 'import torch' 2>/dev/null || return
	"$gangway" run --on "$2" python3 -c '
import torch
n = torch.cuda.device_count()
free, total = torch.cuda.mem_get_info()
load = torch.cuda.utilization()
print("   ", n, "devices,", free >> 20, "of", total >> 20, "MiB free,", load, "%")
assert n > 0 and 0 < free <= total and 0 <= load <= 100' 2>"$out/torch" && say ok "$1: PyTorch" || { say FAIL "$1: PyTorch"; tail -n 5 "$out/torch"; }
}
# A computing program appears with its own pid; natively the worker's pid appears.
process() { # where, device
	"$gangway" run --on "$2" python3 - <<'PYTHON' && say ok "$1: a process is seen" || say FAIL "$1: a process is seen"
import ctypes, os, subprocess, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(256 << 20)) == 0
def ask(*words):
    return subprocess.run(["nvidia-smi", *words], capture_output=True, text=True).stdout
apps, table = ask("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"), ask()
me = str(os.getpid())
csv = [line.split(", ") for line in apps.splitlines()]
rows = [line for line in table.splitlines() if me in line.split()]
print("   ", csv)
print("   ", *rows)
sys.exit(0 if [row for row in csv if row[0] == me and int(row[1]) >= 256] and len(csv) == 1 and len(rows) == 1 else 1)
PYTHON
}
# The first answers of a program are fast: an idle server keeps its resources.
first_answers() { # where, device
	"$gangway" run --on "$2" "$build/bench/bench-nvml" 10 2000 >"$out/bench" || say FAIL "$1: bench-nvml"
	sed 's/^/    /' "$out/bench"
	us=$(sed -n 's/.*(cold) *median *\([0-9]*\) us.*/\1/p' "$out/bench")
	[ "${us:-99999}" -lt 5000 ] && say ok "$1: first answers after $us us" || say FAIL "$1: first answers after $us us, limit 5000"
}

fields=$(nvidia-smi --help-query-gpu | sed -n 's/^"\([a-zA-Z_.0-9]*\)".*/\1/p' | grep -v '^[0-9]' | awk '!seen[$0]++' | paste -sd,)
ask native
[ "$(cat "$out/native.csv.status")" = 0 ] || { echo "natively: $(head -n 3 "$out/native.csv")"; exit 1; }
sleep 1
ask again
compare again
vendor=$(env -u LD_LIBRARY_PATH python3 -c 'import ctypes
ctypes.CDLL("libnvidia-ml.so.1")
print(next(line.split()[-1] for line in open("/proc/self/maps") if "libnvidia-ml" in line))')
[ -n "$vendor" ] && echo "    natively, $vendor:" &&
	env -u LD_LIBRARY_PATH "$build/bench/bench-nvml" 10 100 "$vendor" | sed 's/^/    /'

ask passed "$gangway" run --on nvidia
compare passed "$gangway" run --on nvidia
for transport in unix tcp; do
	serve $transport
	ask $transport "$gangway" run --on "$address"
	compare $transport "$gangway" run --on "$address"
	process $transport "$address"
	first_answers $transport "$address"
	torch $transport "$address"
	stop
done

# PyTorch's NVML functions, if it is installed; the functions that monitors need, through ctypes.
torch passed nvidia
"$gangway" run --on nvidia python3 - <<'PYTHON' && say ok "names for nvtop, btop and vLLM" || say FAIL "names for nvtop, btop and vLLM"
import ctypes
lib = ctypes.CDLL("libnvidia-ml.so.1")
names = """nvmlInit nvmlInit_v2 nvmlShutdown nvmlErrorString nvmlDeviceGetCount nvmlDeviceGetCount_v2 nvmlDeviceGetHandleByIndex
nvmlDeviceGetName nvmlDeviceGetPowerManagementLimit nvmlDeviceGetTemperatureThreshold nvmlDeviceGetUtilizationRates
nvmlDeviceGetClockInfo nvmlDeviceGetPowerUsage nvmlDeviceGetPowerState nvmlDeviceGetTemperature nvmlDeviceGetMemoryInfo
nvmlDeviceGetPcieThroughput nvmlDeviceGetEncoderUtilization nvmlDeviceGetDecoderUtilization nvmlDeviceGetPciInfo_v3
nvmlDeviceGetMaxPcieLinkGeneration nvmlDeviceGetFanSpeed nvmlDeviceGetEnforcedPowerLimit
nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetGraphicsRunningProcesses_v3""".split()
assert all(getattr(lib, n) for n in names)
assert lib.nvmlInit_v2() == 0
count = ctypes.c_uint()
assert lib.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 and count.value > 0
device, memory = ctypes.c_void_p(), (ctypes.c_ulonglong * 3)()
assert lib.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
assert lib.nvmlDeviceGetMemoryInfo(device, memory) == 0 and memory[0] > 0
print("   ", count.value, "devices,", memory[0] >> 20, "MiB")
PYTHON

# Compare gangway smi with nvidia-smi: every field of nvidia-smi must be there with the same text. Like nvidia-smi, ours
# refuses a whole query with one unknown field, so unknown fields are left out and reported as missing.
"$gangway" smi --help-query-gpu | grep -o '"[a-zA-Z_.0-9]*"' | tr -d '"' >"$out/known"
"$gangway" smi --on nvidia --query-gpu="$(echo "$fields" | tr , '\n' | grep -xFf "$out/known" | paste -sd,)" --format=csv \
	>"$out/ours.csv" 2>"$out/ours.errors"
[ -s "$out/ours.errors" ] && head -n 5 "$out/ours.errors" "$out/ours.csv"
python3 "$compare" csv "$out/native.csv" "$out/again.csv" "$out/ours.csv" >"$out/result" && say ok "gangway smi and nvidia-smi" ||
	say FAIL "gangway smi and nvidia-smi"
cat "$out/result"
# The output of -q has fewer values in ours: differences are printed and are not failures.
for what in q xml; do
	"$gangway" smi --on nvidia $(arguments $what) >"$out/ours.$what" 2>&1
	echo "    gangway smi and nvidia-smi, $what:"
	python3 "$compare" $what "$out/native.$what" "$out/again.$what" "$out/ours.$what"
done
exit $failed
