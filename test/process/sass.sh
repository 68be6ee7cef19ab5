#!/bin/sh
# Check that a program without PTX on the CPU device gets CUDA's error and one explanation on standard error, which names
# the kernels, the code in the file and what to do; only under gangway run: sass.sh GANGWAY FOLDER
gangway=$1
out=$2
here=$(dirname "$0")
sh "$here/build.sh" sass "$out" || exit

said=$("$gangway" run --on "${DEVICE:-cpu}" -- "$out/sass" 2>&1 >/dev/null) || { echo "FAIL: the program: $said"; exit 1; }
# A served device's library does not unpack code to name the kernels.
kernels='first_kernel second_kernel'
kernel=first_kernel
case ${DEVICE:-cpu}${GANGWAY_DEVICE:-} in *unix:* | *tcp:*) kernels= kernel= ;; esac
for word in $kernels 'cubin sm_90' 'PTX' 'compute_80,code=compute_80'; do
	case $said in
	*"$word"*) ;;
	*) echo "FAIL: $word is not in: $said"; exit 1 ;;
	esac
done
[ "$(echo "$said" | wc -l)" = 1 ] || { echo "FAIL: more than one line: $said"; exit 1; }

said=$(GANGWAY_EXPLAIN=0 "$gangway" run --on "${DEVICE:-cpu}" -- "$out/sass" 2>&1 >/dev/null)
[ -z "$said" ] || { echo "FAIL: GANGWAY_EXPLAIN=0, and still: $said"; exit 1; }
said=$(GANGWAY_EXPLAIN=0 "$gangway" run --on "${DEVICE:-cpu}" --trace -- "$out/sass" 2>&1 >/dev/null | grep -c "# gangway: no code.*$kernel")
[ "$said" -ge 1 ] || { echo "FAIL: the trace does not say it"; exit 1; }
