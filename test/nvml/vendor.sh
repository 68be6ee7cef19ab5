#!/bin/sh
# A vendor's libraries passed through, and served.  vendor.sh GANGWAY LIBRARIES CLIENTS PRIVATE FAKE_VENDOR SLOW_VENDOR
# FIRST_ANSWERS COUNTING_VENDOR VENDOR_CALLS QUOTA MONITOR
#
# The vendor's libraries are patched copies of our own: another owner in the build note, and another variable in place of
# GANGWAY_DEVICE.  So they are taken for a vendor's, with the null device inside.
gangway=$1 lib=$2 clients=$3 private=$4 standin=$5 slow=$6 first=$7 counted=$8 polls=$9 quota=${10} watch=${11}
here=$(cd "$(dirname "$0")" && pwd)
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
command -v python3 >/dev/null || { echo "skipped: no python3 to change the copies with"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/vendor" "$dir/cuda-only"
cp "$lib/libcuda.so.1" "$lib/libnvidia-ml.so.1" "$lib/libgangway-soft.so" "$dir/vendor/"
python3 - "$dir/vendor/libcuda.so.1" "$dir/vendor/libnvidia-ml.so.1" <<'PYTHON' || exit 1
import sys
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    assert b"Gangway\0" in data and b"GANGWAY_DEVICE\0" in data
    open(path, "wb").write(data.replace(b"Gangway\0", b"Vendors\0").replace(b"GANGWAY_DEVICE\0", b"VENDORS_DEVICE\0"))
PYTHON
export VENDORS_DEVICE=null GANGWAY_NVIDIA_LIBRARY="$dir/vendor/libcuda.so.1"

# In one process.
GANGWAY_DEVICE=nvidia "$clients" >"$dir/out" 2>&1 || fail "clients with the vendor's library passed through: $(cat "$dir/out")"
grep -q 'null device' "$dir/out" || fail "the vendor's library is not the one that answers: $(cat "$dir/out")"
GANGWAY_DEVICE=nvidia GANGWAY_TRACE="$dir/trace" "$clients" >"$dir/out" 2>&1 || fail "clients with a trace: $(cat "$dir/out")"
grep -q 'nvmlDeviceGetMemoryInfo(.*) = NVML_SUCCESS' "$dir/trace" || fail "the trace has no nvmlDeviceGetMemoryInfo"
GANGWAY_DEVICE=nvidia "$private" || fail "the private table of the vendor's library, passed through"

# Served: NVML finds the devices that CUDA shows.
for over in unix tcp; do
	"$here/../served.sh" "$gangway" nvidia $over "$clients" >"$dir/out" 2>&1 || fail "clients served over $over: $(cat "$dir/out")"
	GANGWAY_DEVICE_COUNT=3 "$here/../served.sh" "$gangway" nvidia $over "$clients" >"$dir/out" 2>&1 ||
		fail "clients of three devices served over $over: $(cat "$dir/out")"
done
# A vendor's library of release 580: values that only nvidia-smi asks for reach the client.
cp "$standin" "$dir/vendor/standin.so"
for over in unix tcp; do
	GANGWAY_NVIDIA_ML_LIBRARY="$dir/vendor/standin.so" "$here/../served.sh" "$gangway" nvidia $over "$private" served \
		>"$dir/out" 2>&1 || fail "the private table, served over $over: $(cat "$dir/out")"
done
GANGWAY_NVIDIA_ML_LIBRARY="$dir/vendor/standin.so" "$here/../served.sh" "$gangway" nvidia unix "$gangway" smi \
	--query-gpu=enforced.power.limit,inforom.checksum_validation,accounting.mode --format=csv,noheader >"$dir/out" 2>&1
grep -qx '700.00 W, valid, Disabled' "$dir/out" || fail "gangway smi of a served device: $(cat "$dir/out")"
# The place of a GPU in chassis and fabric, also with older versions of the structs.
place=fabric.state,fabric.status,fabric.cliqueId,fabric.clusterUuid,fabric.health.summary,fabric.health.bandwidth
place=$place,fabric.health.route_recovery_in_progress,fabric.health.route_unhealthy,fabric.health.access_timeout_recovery
place=$place,fabric.health.incorrect_configuration,fabric.health.partition_assigned,platform.chassis_serial_number
place=$place,platform.slot_number,platform.tray_index,platform.host_id,platform.peer_type,platform.gpu_fabric_guid
ask() { # unix or tcp, then the arguments of gangway smi
	over=$1
	shift
	"$here/../served.sh" "$gangway" nvidia "$over" "$gangway" smi "$@" >"$dir/out" 2>&1
}
export GANGWAY_NVIDIA_ML_LIBRARY="$dir/vendor/standin.so"
cluster=abababab-abab-abab-abab-abababababab
chassis='1823825185529, 5, \[N/A\], 1, Switch Connected, 0x21ac5b6a528f7cf5'
health='Full, True, False, False, No Partition, False'
for over in unix tcp; do
	ask $over --query-gpu="$place" --format=csv,noheader
	grep -qx "Completed, Insufficient Resources, 32766, $cluster, Limited Capacity, $health, $chassis" "$dir/out" ||
		fail "a GPU in a rack, $over: $(cat "$dir/out")"
	export STANDIN_OLD=1
	ask $over --query-gpu="$place" --format=csv,noheader
	grep -qx "Completed, Insufficient Resources, 32766, $cluster, N/A, $health, $chassis" "$dir/out" ||
		fail "a GPU in a rack, by an older driver, $over: $(cat "$dir/out")"
	unset STANDIN_OLD
done
STANDIN_STATE=2 ask unix --query-gpu=fabric.state,fabric.status,fabric.cliqueId,fabric.clusterUuid --format=csv,noheader
grep -qx 'In Progress, N/A, N/A, N/A' "$dir/out" || fail "a GPU that waits for its fabric: $(cat "$dir/out")"
STANDIN_STATE=0 ask unix --query-gpu=fabric.state,fabric.health.summary --format=csv,noheader
grep -qx 'N/A, N/A' "$dir/out" || fail "a GPU without a fabric: $(cat "$dir/out")"
ask unix -q
grep -qx ' *Slot Number  *: 5' "$dir/out" && grep -qx ' *Tray Index  *: N/A' "$dir/out" &&
	grep -qx ' *GPU Fabric GUID  *: 0x21ac5b6a528f7cf5' "$dir/out" && grep -qx ' *Bandwidth  *: Full' "$dir/out" ||
	fail "a GPU in a rack, -q: $(cat "$dir/out")"
STANDIN_ARCH=9 ask unix -q -x
grep -q '<slot_number>N/A<' "$dir/out" && grep -q '<peer_type>N/A<' "$dir/out" || fail "an older GPU, -q -x: $(cat "$dir/out")"
[ "$(grep -c '^				<supported_graphics_clock>[0-9]* MHz</supported_graphics_clock>$' "$dir/out")" -eq 110 ] &&
	grep -qx '				<value>3201 MHz</value>' "$dir/out" || fail "the clocks of a GPU, -q -x: $(cat "$dir/out")"
unset GANGWAY_NVIDIA_ML_LIBRARY
# A query of the client is one call of the vendor's library, and constants are read once.  (No spare starts meanwhile.)
cp "$counted" "$dir/vendor/counted.so"
counts=$GANGWAY_USAGE/counts # a folder that the sandbox lets workers write to
for over in unix tcp; do
	rm -f "$counts"
	SERVE="--spares 0" GANGWAY_NVML_BATCH=0 COUNTED="$counts" GANGWAY_NVIDIA_ML_LIBRARY="$dir/vendor/counted.so" "$here/../served.sh" \
		"$gangway" nvidia $over "$polls" >"$dir/out" 2>&1 || fail "a vendor's calls, served over $over: $(cat "$dir/out"; sort "$counts" | uniq -c)"
	# Batched: each query is still one call, but for answers that expired on a busy machine.
	rm -f "$counts"
	SERVE="--spares 0" COUNTED="$counts" GANGWAY_NVIDIA_ML_LIBRARY="$dir/vendor/counted.so" "$here/../served.sh" \
		"$gangway" nvidia $over "$polls" 2 >"$dir/out" 2>&1 ||
		fail "a vendor's calls in batches, served over $over: $(cat "$dir/out"; sort "$counts" | uniq -c)"
done
# A monitor's polls, batched.
for over in unix tcp; do
	COUNTED="$counts" GANGWAY_NVIDIA_ML_LIBRARY="$dir/vendor/counted.so" \
		"$here/batch.sh" "${gangway%/bin/gangway}" nvidia $over "$watch" >"$dir/out" 2>&1 ||
		fail "a vendor's polls, batched over $over: $(cat "$dir/out")"
done
# A quota on a vendor's device.  (This vendor's IPC looks into other processes, which the sandbox forbids.)
for over in unix tcp; do
	SERVE="--memory 128M --sandbox off" QUOTA=134217728 GANGWAY_DEVICE_COUNT=2 "$here/../served.sh" "$gangway" nvidia $over "$quota" \
		>"$dir/out" 2>&1 || fail "a quota on a device served over $over: $(cat "$dir/out")"
done
# A driver that gives up a context slowly does not delay the first answers.
cp "$slow" "$dir/vendor/slow.so"
GO="$dir/go" GANGWAY_NVIDIA_LIBRARY="$dir/vendor/slow.so" GANGWAY_NVIDIA_ML_LIBRARY="$dir/vendor/libnvidia-ml.so.1" \
	"$here/../served.sh" "$gangway" nvidia unix "$first" >"$dir/out" 2>&1 || fail "the first answers: $(cat "$dir/out")"
# The trace names unknown slots of the private table.
GANGWAY_TRACE="$dir/trace" GANGWAY_DEVICE=null "$private" >"$dir/out" 2>&1 || fail "the private table: $(cat "$dir/out")"
for slot in 1 9 80 109 269; do
	grep -q "slot $slot of NVML's private table" "$dir/trace" || fail "the trace has no slot $slot"
done
# Clients see the devices that the server may use: two of three, in another order.
GANGWAY_DEVICE_COUNT=3 CUDA_VISIBLE_DEVICES=2,0 "$here/../served.sh" "$gangway" nvidia unix \
	env -u CUDA_VISIBLE_DEVICES "$gangway" smi --query-gpu=index,pci.bus_id --format=csv,noheader >"$dir/out" 2>&1
printf '0, 00000000:03:00.0\n1, 00000000:01:00.0\n' | cmp -s - "$dir/out" || fail "visible devices of the server: $(cat "$dir/out")"
# NVML in a program ignores CUDA_VISIBLE_DEVICES, as NVIDIA's does.
n=$(GANGWAY_DEVICE=nvidia GANGWAY_DEVICE_COUNT=3 CUDA_VISIBLE_DEVICES=1 "$gangway" smi -L | wc -l)
[ "$n" -eq 3 ] || fail "with CUDA_VISIBLE_DEVICES NVML shows $n devices of 3"

# Without the vendor's NVML calls fail; they never show another device.
cp "$dir/vendor/libcuda.so.1" "$dir/vendor/libgangway-soft.so" "$dir/cuda-only/"
GANGWAY_DEVICE=nvidia GANGWAY_NVIDIA_LIBRARY="$dir/cuda-only/libcuda.so.1" "$gangway" smi -L >"$dir/out" 2>&1
status=$?
[ $status -eq 12 ] && grep -q 'Library Not Found' "$dir/out" || fail "without the vendor's NVML: $status, $(cat "$dir/out")"
# Our own NVML is never taken for the vendor's.
GANGWAY_DEVICE=nvidia GANGWAY_NVIDIA_ML_LIBRARY="$lib/libnvidia-ml.so.1" "$gangway" smi -L >"$dir/out" 2>&1
status=$?
[ $status -eq 12 ] || fail "our own NVML as the vendor's: $status, $(cat "$dir/out")"

# The default device: a server that runs here, else the processor; a dead server is skipped.
unset GANGWAY_NVIDIA_LIBRARY
export XDG_RUNTIME_DIR="$dir" GANGWAY_SOCKET="$dir/own.sock"
unset GANGWAY_DEVICE
"$gangway" smi -L | grep -q 'Gangway CPU' || fail "gangway smi without a server: $("$gangway" smi -L)"
# gangway run sets GANGWAY_DEVICE=cpu on the processor, which has its own cuBLAS.
started_on() { "$gangway" run sh -c 'echo "on ${GANGWAY_DEVICE-no named device}"'; }
[ "$(started_on)" = 'on cpu' ] || fail "gangway run without a server: $(started_on)"
"$gangway" serve --on null --listen "unix:$dir/own.sock" 2>"$dir/log" &
server=$!
until grep -q 'listening on' "$dir/log"; do
	kill -0 $server 2>/dev/null || break
	sleep 0.1
done
"$gangway" smi -L | grep -q 'null device' || fail "gangway smi with a server: $("$gangway" smi -L)"
[ "$(started_on)" = 'on no named device' ] || fail "gangway run with a server: $(started_on)"
spares=$(cat "/proc/$server/task/$server/children")
kill -9 $server
wait $server 2>/dev/null
for spare in $spares; do # a spare that has just started still holds its parent's socket
	while grep -qs gangway "/proc/$spare/cmdline"; do sleep 0.1; done
done
"$gangway" smi -L | grep -q 'Gangway CPU' || fail "gangway smi with the socket of a dead server: $("$gangway" smi -L)"
exit $failed
