#!/bin/sh
# Check that the CUDA filters of the distribution's ffmpeg give the same pictures on the CPU device as its CPU filters:
# ffmpeg.sh GANGWAY CASE
#
# The program and its kernels (PTX 3.2 for sm_30, compiled by clang, read through texture objects) are third-party code.
# Each case runs both filters on a generated film and compares every plane of every frame.
gangway=$1
case=$2
here=$(dirname "$0")
sh "$here/../helper/package.sh" ffmpeg ffmpeg || exit
for filter in scale_cuda yadif_cuda; do
	ffmpeg -hide_banner -filters 2>/dev/null | grep -q " $filter " || {
		echo "skipped: this ffmpeg was built without $filter"
		exit 77
	}
done

# ffmpeg's resampling kernels wrap values above 255 around, its CPU filters do not: avoid such values.
source='testsrc2=size=320x240:rate=25,format=yuv420p,lutyuv=y=64+val/2:u=64+val/2:v=64+val/2'
least=40
case $case in
copy)		device=null cpu=null least=inf ;;
nearest)	device=scale_cuda=480:360:interp_algo=nearest cpu=scale=480:360:flags=neighbor least=inf ;;
half)		device=scale_cuda=160:120:interp_algo=bilinear cpu=scale=160:120:flags=area+accurate_rnd ;;
larger)		device=scale_cuda=480:360:interp_algo=bilinear cpu=scale=480:360:flags=bilinear+accurate_rnd ;;
smaller)	device=scale_cuda=240:180:interp_algo=bilinear cpu=scale=240:180:flags=bilinear+accurate_rnd ;;
bicubic)	device=scale_cuda=480:360 cpu=scale=480:360:flags=bicubic+accurate_rnd:param0=0:param1=0 ;;
sharp)		device=scale_cuda=480:360:interp_algo=bicubic:param=0.6
		cpu=scale=480:360:flags=bicubic+accurate_rnd:param0=0:param1=0.6 ;;
lanczos)	device=scale_cuda=480:360:interp_algo=lanczos cpu=scale=480:360:flags=lanczos+accurate_rnd:param0=2 ;;
yadif)		device=yadif_cuda cpu=yadif ;;
yadif-fields)	device=yadif_cuda=1 cpu=yadif=1 ;;
*)		echo "unknown case $case"; exit 1 ;;
esac

out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
"$gangway" run --on "${DEVICE:-cpu}" -- ffmpeg -hide_banner -nostdin -nostats -init_hw_device cuda=c -filter_hw_device c \
	-f lavfi -i "$source" -frames:v 10 -filter_complex "[0]split[a][b];
	[a]hwupload_cuda,$device,hwdownload,format=yuv420p[x];[b]$cpu[y];[x][y]psnr=stats_file=-" \
	-f null - >"$out" 2>&1 || { cat "$out"; exit 1; }

# One line per frame: n:1 mse_avg:0.5 ... psnr_y:51.2 psnr_u:52.3 psnr_v:inf
frames=$(grep -c '^n:' "$out")
awk -v least="$least" '/^n:/ {
	for (i = 1; i <= NF; i++) {
		split($i, f, ":")
		if (f[1] ~ /^psnr_[yuv]$/ && f[2] != "inf" && (least == "inf" || f[2] + 0 < least + 0)) {
			print $0
			bad = 1
		}
	}
} END { exit bad }' "$out" || { echo "$device differs from $cpu: a plane is below $least dB"; exit 1; }
[ "$frames" -ge 10 ] || { cat "$out"; echo "the output has only $frames frames"; exit 1; }
grep -o 'PSNR .*' "$out"
