#!/bin/sh
# On a machine with a vendor's driver: its own nvidia-smi says the same natively, through our NVML passed through, and
# through our NVML over a server (unix and TCP), field by field, except what changes by itself.
#
#	test/gpu/smi.sh BUILD
#
# Also: the functions that PyTorch, nvtop, btop and vLLM need, and our own gangway smi beside the vendor's.
# Nothing else should use the GPUs meanwhile.  Returns 77 where there is no nvidia-smi.
build=$(cd "${1:?which build folder?}" && pwd)
gangway=$build/bin/gangway
command -v nvidia-smi >/dev/null || { echo "skipped: no nvidia-smi"; exit 77; }
failed=0
out=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; rm -rf "$out"' EXIT

# What differs from one call to the next, by field of --query-gpu and by key of -q.
moving='^(timestamp|utilization\.|temperature\.|power\.draw|module\.power\.draw|clocks\.current|pstate|fan\.speed|memory\.(used|free)|clocks_event_reasons|encoder\.stats|pcie\.link\.gen\.(current|gpucurrent)|pcie\.link\.width\.current)'
moving_key='(Timestamp|Throughput|Temp|Power Draw|GPU|Memory|Encoder|Decoder|JPEG|OFA|Used|Free|Idle|SW Power Cap|SW Power Capping|HW Slowdown|Slowdown|Sync Boost|Graphics|SM|Video|Performance State|Fan Speed|Current|Device Current|Process ID|Name|Used GPU Memory|Replays Since Reset)'

ask() { # where, name: the outputs of one way, in files
	where=$1
	shift
	"$@" nvidia-smi -L >"$out/$where.list" 2>&1
	"$@" nvidia-smi >"$out/$where.table" 2>&1
	"$@" nvidia-smi -q >"$out/$where.q" 2>&1
	"$@" nvidia-smi -q -x >"$out/$where.xml" 2>&1
	"$@" nvidia-smi --query-gpu="$fields" --format=csv >"$out/$where.csv" 2>&1
	echo $? >"$out/$where.status"
}
say() { # ok or FAIL, text
	echo "$1  $2"
	[ "$1" = ok ] || failed=1
}

# One "field = value" a line, without what moves.
split_csv() {
	python3 - "$1" <<'PYTHON' | grep -vE "$moving"
import csv, sys
rows = list(csv.reader(open(sys.argv[1]), skipinitialspace=True))
for n, row in enumerate(rows[1:]):
    for name, value in zip(rows[0], row):
        print(f"{name} = {value} (GPU {n})")
PYTHON
}
still_table() { # numbers that move become marks; where a line stands does not change
	sed -E '1d; s/NVIDIA-SMI [0-9.]+/NVIDIA-SMI/; s/ +[0-9]+(C|W|%|MiB)/ #\1/g; s/ P[0-9]+ / P# /' "$1" | sed '/Processes:/,$d'
}
still_q() {
	grep -vE "^ *$moving_key +:" "$1"
}
compare() { # where
	where=$1
	[ "$(cat "$out/$where.status")" = 0 ] || say FAIL "$where: nvidia-smi ends with $(cat "$out/$where.status"): $(head -n 2 "$out/$where.csv")"
	cmp -s "$out/native.list" "$out/$where.list" && say ok "$where: -L" || { say FAIL "$where: -L"; diff "$out/native.list" "$out/$where.list"; }
	for what in table q csv; do
		case $what in
		table) still_table "$out/native.$what" >"$out/a"; still_table "$out/$where.$what" >"$out/b" ;;
		q) still_q "$out/native.$what" >"$out/a"; still_q "$out/$where.$what" >"$out/b" ;;
		csv) split_csv "$out/native.$what" >"$out/a"; split_csv "$out/$where.$what" >"$out/b" ;;
		esac
		if diff "$out/a" "$out/b" >"$out/diff"; then
			say ok "$where: $what, $(wc -l <"$out/a") lines the same"
		else
			say FAIL "$where: $what differs in $(grep -c '^[<>]' "$out/diff") lines"
			head -n 40 "$out/diff"
		fi
	done
	grep -c '<' "$out/$where.xml" | { read -r n; [ "$n" -eq "$(grep -c '<' "$out/native.xml")" ]; } && say ok "$where: -q -x has as many elements" ||
		say FAIL "$where: -q -x has $(grep -c '<' "$out/$where.xml") lines, natively $(grep -c '<' "$out/native.xml")"
}
serve() { # address
	: >"$out/log"
	"$gangway" serve --on nvidia --listen "$1" 2>"$out/log" &
	server=$!
	until grep -q 'listening on' "$out/log"; do
		kill -0 $server 2>/dev/null || { cat "$out/log"; exit 1; }
		sleep 0.1
	done
	address=$(sed -n 's/.*listening on //p' "$out/log" | head -n 1)
}
stop() {
	kill -9 $server
	wait $server 2>/dev/null
	server=
}

fields=$(nvidia-smi --help-query-gpu | sed -n 's/^"\([a-zA-Z_.0-9]*\)".*/\1/p' | grep -v '^[0-9]' | awk '!seen[$0]++' | paste -sd,)
ask native
[ "$(cat "$out/native.status")" = 0 ] || { echo "natively: $(head -n 3 "$out/native.csv")"; exit 1; }

# What moves by itself between two native runs is no difference of ours: such fields are left out as well.
ask again
compare again

ask passed "$gangway" run --on nvidia
compare passed
for transport in unix tcp; do
	[ $transport = unix ] && serve "unix:$out/socket" || serve tcp://127.0.0.1:0
	ask $transport "$gangway" run --on "$address"
	compare $transport
	# A program that computes is seen by its own number, natively by its worker's.
	"$gangway" run --on "$address" python3 - "$gangway" "$address" <<'PYTHON' && say ok "$transport: a process is seen" || say FAIL "$transport: a process is seen"
import ctypes, os, subprocess, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(256 << 20)) == 0
seen = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"],
    capture_output=True, text=True).stdout
print(seen)
sys.exit(0 if any(line.split(",")[0] == str(os.getpid()) for line in seen.splitlines()) else 1)
PYTHON
	"$gangway" run --on "$address" "$build/bench/bench-nvml" 20
	stop
done

# PyTorch by NVML, where it is installed; the names that monitors need, by ctypes.
python3 -c 'import torch' 2>/dev/null && for on in nvidia; do
	"$gangway" run --on $on python3 -c '
import torch
assert torch.cuda.device_count() > 0
free, total = torch.cuda.mem_get_info()
print(torch.cuda.device_count(), free, total, torch.cuda.utilization())' && say ok "PyTorch" || say FAIL "PyTorch"
done
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
print(count.value, "devices,", memory[0] >> 20, "MiB")
PYTHON

# Our own tool beside the vendor's: the same fields, the same form.
"$gangway" smi --on nvidia --query-gpu="$fields" --format=csv >"$out/ours.csv" 2>&1
split_csv "$out/native.csv" >"$out/a"
split_csv "$out/ours.csv" >"$out/b"
diff "$out/a" "$out/b" >"$out/diff"
echo "gangway smi and nvidia-smi: $(grep -cxFf "$out/b" "$out/a") fields the same of $(wc -l <"$out/a"); the others:"
grep '^[<>]' "$out/diff" | head -n 60
exit $failed
