#!/bin/sh
# On a machine with a GPU: ten thousand of PyTorch's eager operators need no answer of the server.
#
#	test/gpu/eager.sh BUILD [DEVICE...]		DEVICE: unix, tcp; both unless told
#
# The same program with and without them makes as many round trips (GANGWAY_STATS), but for a few: the allocator's
# blocks, a queue that was full.
. "$(dirname "$0")/common.sh"
shift
[ $# -gt 0 ] || set -- unix tcp
python3 -c 'import torch' 2>/dev/null || { echo "skipped: no PyTorch"; exit 77; }

counted() { # operators: posted and round trips, in $posted and $trips
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
