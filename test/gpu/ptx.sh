#!/bin/sh
# On a machine with a GPU: the vendor driver's compiler and GPU give the results that the files of test/ptx expect.
# ptx-run counts files that need a newer GPU as skipped. For the video instructions the script prints the number of
# forms for which the GPU differs from the manual (doc/measurements.md); ours follow the manual.
#
#	test/gpu/ptx.sh BUILD [FOLDER...]
build=$(cd "${1:?which build folder?}" && pwd)
shift
cd "$(dirname "$0")/../ptx" || exit 1
[ $# -gt 0 ] || set -- */
failed=0
for folder; do
	folder=${folder%/}
	said=$(timeout 120 "$build/test/ptx/ptx-run" --cuda "$folder" 2>&1) && how=ok || { how=FAIL; failed=1; }
	echo "$how  $folder: $(echo "$said" | tail -n 1)"
	[ $how = ok ] || echo "$said" | grep -v '^ok' | tail -n 40
done
echo "note  video: $(timeout 120 "$build/test/ptx/ptx-video" --cuda 2>&1 | tail -n 1)"
exit $failed
