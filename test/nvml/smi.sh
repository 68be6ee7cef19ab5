#!/bin/sh
# gangway smi on the device that GANGWAY_DEVICE names: its output has the form of nvidia-smi's, with correct values.
#
#	smi.sh GANGWAY HOLD
gangway=$1 hold=$2
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
dir=$(mktemp -d) || exit 1
holder=
trap '[ -z "$holder" ] || kill -9 $holder 2>/dev/null; rm -rf "$dir"' EXIT
"$hold" 96 "$dir/ready" &
holder=$!
tries=0
until [ -e "$dir/ready" ]; do
	tries=$((tries + 1))
	[ $tries -lt 1200 ] && kill -0 $holder 2>/dev/null || { fail "the device cannot be used"; exit 1; }
	sleep 0.05
done
smi() {
	"$gangway" smi "$@"
}
uuid='GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

# -L
smi -L | grep -qE "^GPU 0: Gangway .* \(UUID: $uuid\)$" || fail "-L: $(smi -L)"

# The table: all lines have the same width, and the process is listed.
smi >"$dir/table" || fail "the table ends with $?"
awk 'NR > 1 && length($0) != 91 && length($0) != 0 {print FILENAME ": line " NR " is " length($0) " wide: " $0; bad = 1}
	END {exit bad}' "$dir/table" || fail "the table is not straight"
grep -qE '^\| GANGWAY-SMI .* Driver Version: 580\.[0-9.]+ +CUDA Version: 13\.0 +\|$' "$dir/table" || fail "the title"
grep -qE "^\|    0   N/A  N/A +$holder      C   .*hold +96MiB \|$" "$dir/table" || fail "the process: $(cat "$dir/table")"
head -n 1 "$dir/table" | grep -qE '^[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} 2[0-9]{3} +$' || fail "the time"

# CSV: headers with the newer names, units, N/A.
csv() { # fields, format, the lines as a pattern each
	fields=$1 format=$2
	shift 2
	smi --query-gpu="$fields" --format="$format" >"$dir/csv" || fail "--query-gpu=$fields ends with $?"
	for pattern; do
		IFS= read -r line
		echo "$line" | grep -qE "^$pattern$" || fail "--query-gpu=$fields: $line, wanted $pattern"
	done <"$dir/csv"
	[ "$(wc -l <"$dir/csv")" -eq $# ] || fail "--query-gpu=$fields: $(cat "$dir/csv")"
}
csv index,gpu_name,gpu_uuid csv 'index, name, uuid' "0, Gangway .*, $uuid"
csv memory.total,memory.used,memory.free csv 'memory.total \[MiB\], memory.used \[MiB\], memory.free \[MiB\]' \
	'[0-9]+ MiB, 96 MiB, [0-9]+ MiB'
csv memory.used csv,noheader '96 MiB'
csv memory.used csv,nounits 'memory.used \[MiB\]' '96'
csv memory.used,utilization.gpu nounits,csv,noheader '96, [0-9]+'
csv utilization.gpu,utilization.memory csv,noheader '[0-9]+ %, [0-9]+ %'
csv fan.speed,power.draw,pstate csv 'fan.speed \[%\], power.draw \[W\], pstate' '\[N/A\], \[N/A\], \[N/A\]'
csv temperature.gpu,clocks.sm,clocks.max.gr csv 'temperature.gpu, clocks.current.sm \[MHz\], clocks.max.graphics \[MHz\]' \
	'([0-9]+|\[N/A\]), ([0-9]+ MHz|\[N/A\]), ([0-9]+ MHz|\[N/A\])'
csv fabric.state,fabric.health.summary,platform.slot_number,platform.peer_type csv,noheader 'N/A, N/A, \[N/A\], \[N/A\]'
csv driver_version,count,compute_cap,compute_mode,pci.bus_id,pci.domain,pci.bus csv,noheader \
	'580\.[0-9.]+, 1, [0-9]+\.[0-9], Default, 00000000:01:00.0, 0x0000, 0x01'
csv timestamp csv,noheader '2[0-9]{3}/[0-9]{2}/[0-9]{2} [0-9:]{8}\.[0-9]{3}'
csv 'name, uuid' csv,noheader "Gangway .*, $uuid"

# Every field of --help-query-gpu in one line, as exporters start.
all=$(smi --help-query-gpu | sed -n 's/^"\([^"]*\)".*/\1/p' | paste -sd,)
smi --query-gpu="$all" --format=csv >"$dir/all" || fail "all fields end with $?"
[ "$(sed -n 1p "$dir/all" | awk -F', ' '{print NF}')" -eq "$(echo "$all" | tr , '\n' | wc -l)" ] || fail "all fields: the header"
[ "$(sed -n 2p "$dir/all" | awk -F', ' '{print NF}')" -eq "$(echo "$all" | tr , '\n' | wc -l)" ] || fail "all fields: the values"
[ "$(echo "$all" | tr , '\n' | wc -l)" -gt 190 ] || fail "--help-query-gpu lists fewer than 190 fields"

# Processes.
smi --query-compute-apps=pid,name,used_memory --format=csv >"$dir/apps"
sed -n 1p "$dir/apps" | grep -qx 'pid, process_name, used_gpu_memory \[MiB\]' || fail "compute-apps: $(cat "$dir/apps")"
grep -qE "^$holder, .*hold, 96 MiB$" "$dir/apps" || fail "compute-apps: $(cat "$dir/apps")"
smi --query-compute-apps=gpu_uuid,pid,used_gpu_memory --format=csv,noheader,nounits | grep -qE "^$uuid, $holder, 96$" ||
	fail "compute-apps without header and units"

# Invalid arguments.
status() { # wanted status, arguments
	wanted=$1
	shift
	smi "$@" >"$dir/out" 2>&1
	got=$?
	[ $got -eq "$wanted" ] || fail "smi $* ends with $got, not $wanted: $(cat "$dir/out")"
}
status 2 --query-gpu=nothing --format=csv
grep -q '^Field "nothing" is not a valid field to query\.$' "$dir/out" || fail "a wrong field: $(cat "$dir/out")"
status 2 --query-gpu=.brand --format=csv
status 2 --query-gpu=name
status 2 --query-gpu=name --format=xml
status 2 --nothing
status 2 -q -d NOTHING
status 6 -i 7
status 6 -i GPU-00000000-0000-0000-0000-000000000000
status 0 -i 0 -L
status 0 -i "$(smi --query-gpu=uuid --format=csv,noheader)" -L
status 0 -i 00000000:01:00.0 --query-gpu=name --format=csv
GANGWAY_DEVICE=unix:$dir/nobody status 9
grep -q 'No such file or directory' "$dir/out" || fail "no device: $(cat "$dir/out")"

# -q: the lines that people look for; -d leaves the rest out.
smi -q >"$dir/q" || fail "-q ends with $?"
for line in '==============NVSMI LOG==============' 'Attached GPUs                                          : 1' \
	'GPU 00000000:01:00.0' '    FB Memory Usage' '        Used                                           : 96 MiB' \
	"        Process ID                        : $holder" '    Fan Speed                                          : N/A'; do
	grep -qxF "$line" "$dir/q" || fail "-q has no line: $line"
done
smi -q -d MEMORY,PIDS >"$dir/memory"
grep -q 'FB Memory Usage' "$dir/memory" && grep -q 'Process ID' "$dir/memory" && ! grep -q 'Temperature' "$dir/memory" ||
	fail "-d MEMORY,PIDS: $(cat "$dir/memory")"

# XML: well-formed, with the fields that collectors read.
smi -q -x >"$dir/xml" || fail "-q -x ends with $?"
if command -v python3 >/dev/null; then
	python3 "$(dirname "$0")/smi_xml.py" "$holder" <"$dir/xml" || fail "-q -x: see above"
elif command -v xmllint >/dev/null; then
	xmllint --noout "$dir/xml" || fail "-q -x is no XML"
fi

# dmon, pmon, and loops.
smi dmon -c 2 -s um >"$dir/dmon"
sed -n 1p "$dir/dmon" | grep -qx '# gpu     sm    mem    enc    dec    jpg    ofa     fb   bar1   ccpm ' || fail "dmon: $(cat "$dir/dmon")"
[ "$(grep -cE '^    0 +[0-9]+ +[0-9]+ +- +- +- +- +96 +- +- $' "$dir/dmon")" -eq 2 ] || fail "dmon: $(cat "$dir/dmon")"
smi pmon -c 1 | grep -qE "^    0 +$holder     C +[-0-9]+ +[-0-9]+ +- +- +- +-    .*hold *$" || fail "pmon: $(smi pmon -c 1)"
smi --query-gpu=memory.used --format=csv -lms 50 2>/dev/null | head -n 3 >"$dir/loop"
[ "$(cat "$dir/loop")" = 'memory.used [MiB]
96 MiB
96 MiB' ] || fail "-lms: $(cat "$dir/loop")"
smi -f "$dir/file" -L && grep -q '^GPU 0' "$dir/file" || fail "-f"

# As nvidia-smi inside gangway run, unless the machine has one.
mkdir "$dir/bin"
printf '#!/bin/sh\necho the machine has one\n' >"$dir/bin/nvidia-smi"
chmod +x "$dir/bin/nvidia-smi"
clean=$(echo "$PATH" | tr : '\n' | while read -r p; do [ -x "$p/nvidia-smi" ] || echo "$p"; done | paste -sd:)
PATH=$clean "$gangway" run --on "$GANGWAY_DEVICE" sh -c 'nvidia-smi -L' | grep -q '^GPU 0: Gangway' || fail "nvidia-smi in gangway run"
PATH=$dir/bin:$clean "$gangway" run --on "$GANGWAY_DEVICE" sh -c 'nvidia-smi -L' | grep -qx 'the machine has one' ||
	fail "the machine's own nvidia-smi comes first"
exit $failed
