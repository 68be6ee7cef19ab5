#!/bin/sh
# On a machine with a GPU: ten thousand eager operators of PyTorch need no reply from the server.
#
#	test/gpu/eager.sh BUILD [DEVICE...]		DEVICE: unix, tcp; default both
#
# The program makes the same number of round trips (GANGWAY_STATS) with and without the operators, except for a few: the
# allocator's blocks, and waits for room in a full queue.
. "$(dirname "$0")/common.sh"
shift
[ $# -gt 0 ] || set -- unix tcp
python3 -c 'import torch' 2>/dev/null || { echo "skipped: PyTorch is not installed"; exit 77; }

counted() { # number of operators: sets $posted and $trips to the posted calls and round trips
	GANGWAY_STATS=1 timeout 120 "$gangway" run --on "$address" -- python3 - "$1" >"$out/said" 2>"$out/stats" <<'PYTHON'
import sys, torch
x = torch.randn(64, 64, device="cuda")
y = x + x
for _ in range(int(sys.argv[1])):
    y = x + x
torch.cuda.synchronize()
assert torch.equal(y, 2 * x)
PYTHON
	posted=$(awk '/ in all$/ { print $1 }' "$out/stats")
	trips=$(awk '/ in all$/ { print $2 }' "$out/stats")
	[ -n "$trips" ] || { cat "$out/said" "$out/stats"; trips=0; posted=0; }
}
for device; do
	serve "$device"
	counted 0
	posted_before=$posted trips_before=$trips
	counted 10000
	more="$device: 10000 eager adds: $((posted - posted_before)) calls posted, $((trips - trips_before)) round trips more"
	if [ $((posted - posted_before)) -ge 10000 ] && [ $((trips - trips_before)) -le 20 ]; then
		echo "ok    $more"
	else
		echo "FAIL  $more"
		cat "$out/stats"
		failed=1
	fi
	stop
done
exit $failed
