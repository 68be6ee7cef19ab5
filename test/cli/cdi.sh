#!/bin/sh
# Check that the output of gangway cdi is valid CDI 0.5, names existing files, and names the device as the container sees
# it: cdi.sh PREFIX
prefix=$1
out=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$out"' EXIT
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
gangway=$prefix/bin/gangway
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
unset GANGWAY_DEVICE GANGWAY_SOCKET

# rules FILE GANGWAY_DEVICE
rules() {
	python3 - "$@" <<'PYTHON' || failed=1
import json, os, re, sys

spec, device = json.load(open(sys.argv[1])), sys.argv[2]
bad = []

def only(what, thing, required, optional=()):
    for key in required:
        if key not in thing: bad.append(f"{what} lacks {key}")
    for key in thing:
        if key not in required and key not in optional: bad.append(f"{what} has {key}, which CDI 0.5 does not know")

def edits(what, e):
    only(what, e, (), ("env", "mounts", "deviceNodes", "hooks"))
    if not e: bad.append(f"{what} edits nothing")
    for v in e.get("env", []):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", v): bad.append(f"{what}: env {v}")
    for m in e.get("mounts", []):
        only(what + " mount", m, ("hostPath", "containerPath"), ("options",))
        if not m["containerPath"].startswith("/"): bad.append(f"{what}: {m['containerPath']} is not absolute")
        if not os.path.exists(m["hostPath"]): bad.append(f"{what}: {m['hostPath']} does not exist")

only("the file", spec, ("cdiVersion", "kind", "devices"), ("containerEdits",))
if spec["cdiVersion"] != "0.5.0": bad.append("cdiVersion")
if spec["kind"] != "gangway.dev/gpu": bad.append("kind")
names = [d["name"] for d in spec["devices"]]
for d in spec["devices"]:
    only("a device", d, ("name", "containerEdits"))
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?", d["name"]): bad.append(f"name {d['name']}")
    edits(d["name"], d["containerEdits"])
    if "GANGWAY_DEVICE=" + device not in d["containerEdits"]["env"]: bad.append(f"{d['name']}: not {device}")
if len(set(names)) != len(names) or "0" not in names or "all" not in names: bad.append(f"names {names}")
if not any(n.startswith("GPU-") and len(n) == 40 for n in names): bad.append("no UUID")
edits("everywhere", spec["containerEdits"])
inside = [m["containerPath"] for m in spec["containerEdits"]["mounts"]]
if len(set(inside)) != len(inside): bad.append("two mounts have the same path")
if not any(p.endswith("/libcuda.so.1") for p in inside): bad.append("no libcuda.so.1")
if device.startswith("unix:") and not any(device[5:].startswith(p) for p in inside): bad.append("no socket")
for b in bad: print("FAIL:", b)
sys.exit(bool(bad))
PYTHON
}

"$gangway" cdi --on cpu >"$out/cpu.json" || fail "gangway cdi --on cpu returns an error"
rules "$out/cpu.json" cpu
ln -s "$out/elsewhere" "$out/file.json"
"$gangway" cdi --on cpu --library-path --output "$out/file.json" || fail "gangway cdi --output returns an error"
[ -e "$out/elsewhere" ] && fail "--output writes through a link"
rules "$out/file.json" cpu
grep -q '"LD_LIBRARY_PATH=/usr/lib/gangway"' "$out/file.json" || fail "--library-path does not set LD_LIBRARY_PATH"
[ "$(ls "$out")" = "cpu.json
file.json" ] || fail "unexpected files: $(ls "$out")"

for dir in gangway other; do
	mkdir "$out/$dir"
	GANGWAY_DEVICE_COUNT=2 "$gangway" serve --on null --listen "unix:$out/$dir/g.sock" 2>"$out/$dir.log" &
	server=$!
	for i in $(seq 600); do
		grep -qs 'listening on' "$out/$dir.log" && break
		sleep 0.1
	done
	"$gangway" cdi --on "unix:$out/$dir/g.sock" >"$out/$dir.json" || fail "gangway cdi fails for a server"
	rules "$out/$dir.json" unix:/run/gangway/g.sock
	grep -q '"name": "1"' "$out/$dir.json" || fail "the second device is missing"
	kill "$server"
	wait "$server"
	server=
done
grep -q "\"$out/gangway\"" "$out/gangway.json" || fail "the server's own folder is not mounted"
grep -q "\"$out/other/g.sock\"" "$out/other.json" || fail "the socket is not mounted"

for bad in "--on unix:$out/none" '--on nvidia' 'more'; do
	"$gangway" cdi $bad >"$out/said" 2>&1 && fail "gangway cdi $bad returns 0"
	[ "$(wc -l <"$out/said")" -le 2 ] || fail "gangway cdi $bad prints more than two lines"
done
exit $failed
