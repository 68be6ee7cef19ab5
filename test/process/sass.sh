#!/bin/sh
# Check a program without PTX on the CPU device: sass.sh GANGWAY FOLDER
#
# The program gets CUDA's error, and gangway run prints one line on standard error that names the kernels, the code in the
# file and the fix.
gangway=$1
out=$2
here=$(dirname "$0")
sh "$here/build.sh" sass "$out" || exit

said=$("$gangway" run --on "${DEVICE:-cpu}" -- "$out/sass" 2>&1 >/dev/null) || { echo "FAIL: the program fails: $said"; exit 1; }
# With a server, the client does not unpack the code and cannot name the kernels.
kernel='Kernels: first_kernel and 1 more'
case ${DEVICE:-cpu}${GANGWAY_DEVICE:-} in *unix:* | *tcp:*) kernel= ;; esac
for word in "$kernel" 'cubin sm_90' 'PTX' 'compute_80,code=compute_80'; do
	case $said in
	*"$word"*) ;;
	*) echo "FAIL: the explanation does not contain \"$word\": $said"; exit 1 ;;
	esac
done
[ ${#said} -lt 400 ] || { echo "FAIL: the explanation has ${#said} characters: $said"; exit 1; }
[ "$(echo "$said" | wc -l)" = 1 ] || { echo "FAIL: the explanation is not exactly one line: $said"; exit 1; }

said=$(GANGWAY_EXPLAIN=0 "$gangway" run --on "${DEVICE:-cpu}" -- "$out/sass" 2>&1 >/dev/null)
[ -z "$said" ] || { echo "FAIL: GANGWAY_EXPLAIN=0 does not suppress the explanation: $said"; exit 1; }
said=$(GANGWAY_EXPLAIN=0 "$gangway" run --on "${DEVICE:-cpu}" --trace -- "$out/sass" 2>&1 >/dev/null | grep -c "# gangway: no code.*$kernel")
[ "$said" -ge 1 ] || { echo "FAIL: the trace does not contain the explanation"; exit 1; }
