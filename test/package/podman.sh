#!/bin/sh
# Check that podman --device gangway.dev/gpu=0 gives a container the device of a server on the host: podman.sh PREFIX
#
# The container is a minimal Debian with a CUDA program and without Gangway, run with runc: as root, and rootless as the
# user GANGWAY_TEST_USER (who needs subordinate ids) if that is set. The kind in the CDI description is unique, because
# /etc/cdi is shared by the whole machine.
prefix=$1
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "skipped: root is needed to write to /etc/cdi"; exit 77; }
for pair in 'podman podman' 'runc runc'; do
	sh "$here/../helper/package.sh" $pair || exit
done
base=$("$here/bare.sh") || exit
out=$(mktemp -d) || exit 1
kind=gangway-test-$$.dev/gpu
server=
cleanup() {
	[ -z "$server" ] || kill $server 2>/dev/null
	rm -rf "$out" /etc/cdi/gangway-test-$$*.json
}
trap cleanup EXIT
failed=0
fail() {
	echo "FAIL: $*"
	failed=1
}
mkdir -p "$out/root" /etc/cdi
chmod 0755 "$out"
cp -a "$prefix" "$out/installed"
tar -C "$out/root" -xf "$base" || exit 1
cp "$prefix/lib/gangway/vectoradd" "$out/root/usr/bin/"

cat >"$out/run.sh" <<'SCRIPT'
# run.sh FOLDER KIND ROOT: start a server, write the description, print "described", and run the program in a container
mkdir -p "$1/gangway" && cd "$1" || exit 1
HOME=$1 XDG_RUNTIME_DIR=$1
export HOME XDG_RUNTIME_DIR
"$1/../installed/bin/gangway" serve --on cpu --listen "unix:$1/gangway/gangway.sock" 2>serve.log &
server=$!
trap 'kill $server; wait $server' EXIT
for i in $(seq 600); do
	grep -q listening serve.log && break # the socket exists before the server listens
	sleep 0.1
done
"$1/../installed/bin/gangway" cdi --on "unix:$1/gangway/gangway.sock" | sed "s#gangway.dev/gpu#$2#" >spec.json
mv spec.json described.json
for i in $(seq 600); do
	[ -e go ] && break
	sleep 0.1
done
timeout 100 podman --log-level error --root "$1/storage" --runroot "$1/runroot" --tmpdir "$1/tmp" \
	--storage-driver vfs --cgroup-manager cgroupfs --runtime runc run --rm --network=none \
	--ulimit nofile=20000:20000 --ulimit nproc=1000:1000 --device "$2=0" --rootfs "$3" \
	sh -c 'id -u; env | grep GANGWAY; vectoradd && gangway version' 2>&1
SCRIPT

# try NAME FOLDER KIND ROOT COMMAND...: COMMAND runs a shell as the wanted user
try() {
	name=$1 folder=$2 its=$3 root=$4
	shift 4
	"$@" sh "$out/run.sh" "$folder" "$its" "$root" >"$out/said" 2>&1 &
	server=$!
	for i in $(seq 600); do
		[ -e "$folder/described.json" ] && break
		sleep 0.1
	done
	cp "$folder/described.json" "/etc/cdi/gangway-test-$$-$name.json" || fail "$name: no CDI description"
	touch "$folder/go"
	wait $server
	server=
	cat "$out/said"
	grep -q 'sums are correct' "$out/said" || { fail "$name"; cat "$folder/serve.log"; }
	grep -q 'libcuda.so.1 *same build: /usr/lib/gangway/' "$out/said" || fail "$name: gangway in the container is not the same build"
}

mkdir "$out/rootful"
try rootful "$out/rootful" "$kind" "$out/root"
if [ -n "${GANGWAY_TEST_USER:-}" ]; then
	user=$GANGWAY_TEST_USER
	mkdir "$out/rootless"
	cp -a "$out/root" "$out/theirs"
	chown -R "$user": "$out/rootless" "$out/theirs"
	try rootless "$out/rootless" "less-$kind" "$out/theirs" setpriv --reuid "$user" --regid "$user" --init-groups
else
	echo "rootless: not tested, GANGWAY_TEST_USER is not set"
fi
exit $failed
