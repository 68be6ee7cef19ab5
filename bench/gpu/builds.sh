#!/bin/sh
# Compare two builds of Gangway that serve the same GPU: their servers run side by side, and clients alternate between
# them. Prints the medians of all starts and their ratio, new / old.
#
#	[PIN=2-5] bench/gpu/builds.sh [--within SECONDS] [--only micro|torch|start] OLD NEW TRANSPORT
#
# OLD and NEW are build folders, TRANSPORT is unix or tcp. OLD_SERVE and NEW_SERVE: further options of each server.
# start measures the first CUDA call of a process.
within=120
only=
while [ "${1#--}" != "$1" ]; do
	case $1 in
	--within) within=$2; shift 2 ;;
	--only) only=$2; shift 2 ;;
	*) echo "builds.sh: unknown option $1" >&2; exit 2 ;;
	esac
done
old=${1:?which old build?} new=${2:?which new build?} transport=${3:-unix}
here=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp -d) || exit 1
servers=
trap 'kill $servers 2>/dev/null; rm -rf "$out"' EXIT

serve() { # side, build, options: sets $address
	address=unix:$out/$1.socket
	[ "$transport" = tcp ] && address=tcp://127.0.0.1:0
	"$2/bin/gangway" serve --on nvidia --listen "$address" $3 2>"$out/$1.log" &
	servers="$servers $!"
	until grep -q 'listening on' "$out/$1.log"; do
		kill -0 $! 2>/dev/null || { cat "$out/$1.log"; exit 1; }
		sleep 0.1
	done
	address=$(sed -n 's/.*listening on //p' "$out/$1.log" | head -n 1)
}
serve old "$old" "$OLD_SERVE"
old_address=$address
serve new "$new" "$NEW_SERVE"
new_address=$address

cat >"$out/start.c" <<'C'
#include <stdio.h>
#include <time.h>
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int main(void)
{
	struct timespec a, b;
	void *context;
	clock_gettime(CLOCK_MONOTONIC, &a);
	int r = cuInit(0);
	r = r ? r : cuDevicePrimaryCtxRetain(&context, 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("first_call_ms %.3f\n", (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6);
	return r;
}
C
cc -O2 -o "$out/start" "$out/start.c" -L"$new/lib/gangway" -lcuda || exit 1
[ -n "$only" ] && [ "$only" != micro ] || nvcc -O2 -std=c++17 -arch=native -o "$out/micro" "$here/micro.cu" || exit 1

run() { # side, program, command...
	side=$1 program=$2
	shift 2
	build=$old address=$old_address
	[ "$side" = old ] || build=$new address=$new_address
	if ! ${PIN:+taskset -c "$PIN"} "$build/bin/gangway" run --on "$address" -- "$@" >"$out/last" 2>&1; then
		echo "FAILED: $side: $*"
		tail -n 5 "$out/last"
		return
	fi
	grep -E '^[a-zA-Z0-9_]+ -?[0-9.]+$' "$out/last" | sed "s/^/$program $side /" >>"$out/all"
}
pair() { # program, command...
	if [ $((turn % 2)) = 0 ]; then
		run old "$@" && run new "$@"
	else
		run new "$@" && run old "$@"
	fi
}
began=$(date +%s)
turn=0
while [ $turn -lt 2 ] || [ $(($(date +%s) - began)) -lt "$within" ]; do
	[ -n "$only" ] && [ "$only" != start ] || { sleep 0.5; pair start "$out/start"; } # a spare is ready again
	[ -n "$only" ] && [ "$only" != micro ] || pair micro "$out/micro"
	[ -n "$only" ] && [ "$only" != torch ] || pair torch python3 "$here/torch_bench.py"
	turn=$((turn + 1))
done
sort -s -k1,1 -k3,3 "$out/all" | awk '
	function median(k, n,   i, j, t, v) {
		for (i = 1; i <= n; i++) v[i] = val[k, i]
		for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] < v[j-1]; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
		return n % 2 ? v[(n+1)/2] : (v[n/2] + v[n/2+1]) / 2
	}
	{
		line = $1 " " $3; key = line SUBSEP $2
		if (!(line in seen)) { seen[line] = 1; order[++lines] = line }
		val[key, ++count[key]] = $4 + 0
	}
	END {
		printf "%-34s %12s %12s %8s %7s\n", "medians", "old", "new", "new/old", "starts"
		for (i = 1; i <= lines; i++) {
			o = order[i] SUBSEP "old"; n = order[i] SUBSEP "new"
			x = median(o, count[o]); y = median(n, count[n])
			printf "%-34s %12.3f %12.3f %8.3f %7d\n", order[i], x, y, x ? y / x : 0, count[n]
		}
	}'
