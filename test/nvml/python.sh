#!/bin/sh
# Python programs that show GPUs, from PyPI: nvidia-ml-py itself, gpustat, nvitop.
#
#	python.sh GANGWAY	on the device that GANGWAY_DEVICE names
#
# The packages are kept in $GANGWAY_TEST_CACHE; pip downloads them if they are missing.
gangway=$1
here=$(dirname "$0")
cache=${GANGWAY_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gangway-test}
site=$cache/python-nvml-1

skip() {
	echo "skipped: $*"
	exit 77
}
command -v python3 >/dev/null || skip "no python3"
python3 -m pip --version >/dev/null 2>&1 || skip "python3 has no pip"
mkdir -p "$cache" 2>/dev/null || skip "cannot write to $cache"
exec 9>"$cache/lock"
flock 9
if ! [ -e "$site/complete" ]; then
	[ -n "$(find "$site.refused" -mmin -10 2>/dev/null)" ] && skip "$(cat "$site.refused")"
	rm -rf "$site"
	if ! python3 -m pip install --quiet --no-cache-dir --no-warn-script-location --retries 1 --target "$site" \
		nvidia-ml-py==13.580.126 gpustat==1.1.1 nvitop==1.7.2 >"$site.log" 2>&1; then
		echo "no package index has nvidia-ml-py, gpustat and nvitop" >"$site.refused"
		skip "$(cat "$site.refused")"
	fi
	touch "$site/complete"
fi
flock -u 9
export PYTHONPATH="$site" TERM=xterm

failed=0
"$gangway" run --on "$GANGWAY_DEVICE" python3 "$here/pynvml_calls.py" || failed=1
out=$("$gangway" run --on "$GANGWAY_DEVICE" python3 -m gpustat --json) || failed=1
echo "$out" | grep -q '"driver_version": "580' || { echo "gpustat: $out"; failed=1; }
echo "$out" | grep -q '"memory.total": [1-9]' || { echo "gpustat: $out"; failed=1; }
out=$("$gangway" run --on "$GANGWAY_DEVICE" python3 -m nvitop -1 2>&1) || failed=1
echo "$out" | grep -q 'CUDA Driver Version: 13.0' || { echo "nvitop: $out"; failed=1; }
exit $failed
