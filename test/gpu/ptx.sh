#!/bin/sh
# On a machine with a GPU: the driver's own compiler and GPU give what the files of test/ptx expect; what the GPU is
# too old for is counted as skipped by ptx-run.  Of the video instructions it is told how many forms the GPU does other
# than the manual has them (doc/measurements.md): ours are the manual's.
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
