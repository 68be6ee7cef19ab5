#!/bin/sh
# Check which library names the audit library redirects: names.sh LIBRARIES OPEN
#
# LIBRARIES is the folder of our audit libraries, OPEN the program of open_libraries.c. The test installation contains runtime
# libraries, too.
libraries=$1
open=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ours=$work/lib/gangway
app=$work/app
mkdir -p "$ours" "$app" || exit 1
cp "$libraries/libgangway-audit.so" "$ours" || exit 1
echo 'int nothing;' >"$work/empty.c"
${CC:-cc} -shared -fPIC -o "$work/empty.so" "$work/empty.c" || exit 1
empty() { cp "$work/empty.so" "$1"; }
mkdir "$ours/cpu" || exit 1
for name in libcuda.so.1 libcudart.so.12 libcudart.so.13 cpu/libcublas.so.13; do empty "$ours/$name"; done
ln -s libcudart.so.13 "$ours/libcudart.so"
for name in libcuda.so libcuda.so.1 libcuda.so.535.54.03 libcuda.so.old libcuda.so. libcuda.so.1a libcudart.so \
	libcudart.so.12 libcudart.so.12.8.90 libcudart.so.11.0 libcudart.so.130 libcudart-d0da41ae.so.11.0 \
	libcublas.so.13.1.0.3 libcublas.so.12 libnvidia-ml.so.1 libcudadevrt.so; do
	empty "$app/$name"
done
LD_AUDIT=$ours/libgangway-audit.so
GLIBC_TUNABLES=glibc.rtld.optional_static_tls=2000000 # for an OPEN program built with a sanitizer
export LD_AUDIT GLIBC_TUNABLES
unset LD_LIBRARY_PATH GANGWAY_KEEP GANGWAY_AUDIT_LOG GANGWAY_DEVICE
failed=0
becomes() { # requested name, loaded file or -; paths are relative to $work
	case $1 in
	/*) name=$work$1 ;;
	*) name=$1 ;;
	esac
	said=$("$open" "$name" 2>&1)
	want=$2
	[ "$want" = - ] || want=$work$2
	[ "$said" = "$name -> $want" ] || { echo "FAIL: got: $said; expected: $want"; failed=1; }
}
# Every name and path of the driver library is redirected.
becomes libcuda.so.1 /lib/gangway/libcuda.so.1
becomes libcuda.so /lib/gangway/libcuda.so.1
becomes /app/libcuda.so /lib/gangway/libcuda.so.1
becomes /app/libcuda.so.535.54.03 /lib/gangway/libcuda.so.1
becomes /nosuch/libcuda.so.1 /lib/gangway/libcuda.so.1
becomes @libcuda.so.1 /lib/gangway/libcuda.so.1
# Similar names are not redirected.
becomes /app/libcuda.so.old /app/libcuda.so.old
becomes /app/libcuda.so. /app/libcuda.so.
becomes /app/libcuda.so.1a /app/libcuda.so.1a
becomes /app/libcudadevrt.so /app/libcudadevrt.so
# A runtime library is redirected if the installation has the requested version.
becomes /app/libcudart.so.12 /lib/gangway/libcudart.so.12
becomes /app/libcudart.so.12.8.90 /lib/gangway/libcudart.so.12
becomes libcudart.so.13 /lib/gangway/libcudart.so.13
becomes /app/libcudart.so /lib/gangway/libcudart.so
becomes /app/libcudart.so.11.0 /app/libcudart.so.11.0
becomes /app/libcudart.so.130 /app/libcudart.so.130
becomes /app/libcudart-d0da41ae.so.11.0 /app/libcudart-d0da41ae.so.11.0
# cuBLAS is redirected on the CPU device only.
becomes /app/libcublas.so.13.1.0.3 /app/libcublas.so.13.1.0.3
GANGWAY_DEVICE=unix:/somewhere
export GANGWAY_DEVICE
becomes /app/libcublas.so.13.1.0.3 /app/libcublas.so.13.1.0.3
GANGWAY_DEVICE=cpu
becomes /app/libcublas.so.13.1.0.3 /lib/gangway/cpu/libcublas.so.13
becomes libcublas.so.13 /lib/gangway/cpu/libcublas.so.13
becomes /app/libcublas.so.12 /app/libcublas.so.12
# A library that this installation does not contain is not redirected.
becomes /app/libnvidia-ml.so.1 /app/libnvidia-ml.so.1
becomes libnvidia-ml.so -
# Where the loader finds no runtime, it gets ours; any other one has precedence. The loader reports the path that it tried.
mkdir "$ours/cudart" "$work/other" || exit 1
empty "$ours/cudart/libcudart.so.99"
falls() { # requested name: loaded from our folder?
	GANGWAY_AUDIT_LOG=$work/log "$open" "$1" >/dev/null 2>&1
	grep -q "fallback	$ours/cudart/$1\$" "$work/log"
	found=$?
	rm -f "$work/log"
	return $found
}
falls libcudart.so.99 || { echo "FAIL: libcudart.so.99 is not found where there is no other"; failed=1; }
falls libcudart.so.98 && { echo "FAIL: libcudart.so.98 is found, which nobody has"; failed=1; }
GANGWAY_KEEP=libcudart falls libcudart.so.99 && { echo "FAIL: GANGWAY_KEEP does not keep the runtime"; failed=1; }
empty "$work/other/libcudart.so.99"
LD_LIBRARY_PATH=$work/other
export LD_LIBRARY_PATH
becomes libcudart.so.99 /other/libcudart.so.99
unset LD_LIBRARY_PATH
# GANGWAY_KEEP exempts whole library names.
GANGWAY_KEEP=libcublas:libcudart
export GANGWAY_KEEP
becomes /app/libcudart.so.12 /app/libcudart.so.12
becomes /app/libcublas.so.13.1.0.3 /app/libcublas.so.13.1.0.3
becomes /app/libcuda.so.1 /lib/gangway/libcuda.so.1
GANGWAY_KEEP=libcud:cudart:libcudart.so.12:
becomes /app/libcudart.so.12 /lib/gangway/libcudart.so.12
unset GANGWAY_KEEP
# With a relative path in LD_AUDIT the audit library cannot determine its folder, and redirects nothing.
LD_AUDIT=../gangway/libgangway-audit.so
cd "$ours" || exit 1
becomes /app/libcuda.so.1 /app/libcuda.so.1
exit $failed
