#!/bin/sh
# Run llama.cpp as node-llama-cpp ships it, with CUDA 13, on the CPU device: llama.sh GANGWAY
#
# The prebuilt libggml-cuda.so finds the device, and a model with random weights predicts the same tokens on it as on
# llama.cpp's own CPU code. On the local device it uses our cuBLAS, which works only there; through a server it needs
# no cuBLAS of ours.
gangway=$1
here=$(cd "$(dirname "$0")" && pwd)
version=3.22.1
skip() {
	echo "skipped: $*"
	exit 77
}
cache=${GANGWAY_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gangway-test}
modules=$cache/node-llama-cpp-$version
[ "$(uname -m)" = x86_64 ] || skip "node-llama-cpp supports CUDA only on x86_64"
[ "$(node -p 'process.versions.node.split(".")[0] >= 20' 2>/dev/null)" = true ] || skip "node-llama-cpp needs node 20"
command -v npm >/dev/null || skip "npm is not installed"
runtime=$("$here/../helper/wheels.sh" nvidia-cuda-runtime 13.2.86) || exit
cublas=$("$here/../helper/wheels.sh" nvidia-cublas 13.1.0.3) || exit
if [ ! -e "$modules/complete" ]; then
	[ "${GANGWAY_TEST_INSTALL:-1}" != 0 ] || skip "GANGWAY_TEST_INSTALL=0 forbids downloading node-llama-cpp"
	mkdir -p "$modules" || skip "cannot write to $cache"
	exec 9>"$modules.lock"
	flock 9
	echo '{"type": "module"}' >"$modules/package.json"
	[ -e "$modules/complete" ] || (cd "$modules" && timeout 500 npm install --ignore-scripts --omit=optional --no-audit --no-fund --fetch-retries=1 \
		"node-llama-cpp@$version" "@node-llama-cpp/linux-x64-cuda@$version" >npm.log 2>&1 9>&- && touch complete) ||
		skip "npm cannot download node-llama-cpp: $(grep -m 1 'npm error' "$modules/npm.log")"
	exec 9>&-
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
python3 "$here/tinymodel.py" "$work/tiny.gguf" || exit 1
cp "$here/llama.mjs" "$work/"
ln -s "$modules/node_modules" "$work/node_modules"
LD_LIBRARY_PATH=$cublas:$runtime
export LD_LIBRARY_PATH
prompt=short
[ "${DEVICE:-cpu}" = cpu ] && prompt=long
timeout 400 "$gangway" run --on "${DEVICE:-cpu}" -- node "$work/llama.mjs" "$work/tiny.gguf" $prompt >"$work/out" 2>&1 || failed=1
grep -q '^devices: Gangway CPU' "$work/out" || { echo "FAIL: llama.cpp does not find the device"; failed=1; }
grep -q '^3 layers on the device' "$work/out" || { echo "FAIL: llama.cpp computes nothing on the device"; failed=1; }
cat "$work/out"
exit $failed
