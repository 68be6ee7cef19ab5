#!/bin/sh
# Check that systemd accepts the installed unit and rates its sandbox well: unit.sh PREFIX
prefix=$1
unit=$prefix/lib/systemd/system/gangway.service
grep -q "^ExecStart=$prefix/bin/gangway serve" "$unit" || { echo "FAIL: ExecStart is not in $prefix"; exit 1; }
command -v systemd-analyze >/dev/null || { echo "skipped: systemd-analyze is not installed"; exit 77; }
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

systemd-analyze verify --man=no "$unit" >"$out/verify" 2>&1 || { cat "$out/verify"; echo "FAIL: systemd-analyze verify"; exit 1; }
# The output may include messages about other units of the machine.
grep -q gangway.service "$out/verify" && { cat "$out/verify"; echo "FAIL: systemd-analyze verify"; exit 1; }
if ! systemd-analyze security --offline=true --threshold=20 --no-pager "$unit" >"$out/security" 2>&1; then
	grep -q 'nrecognized option\|nknown operation' "$out/security" && { echo "skipped: this systemd-analyze cannot check unit files offline"; exit 77; }
	cat "$out/security"
	echo "FAIL: exposure above 2.0"
	exit 1
fi
tail -n 1 "$out/security"
