#!/bin/sh
# Compare native runs with Gangway, alternating, on a machine with a GPU; print medians and their ratio.
#
#	[RAW=FILE] [PIN=2-5] bench/gpu/compare.sh [--runs N] [--best M] [--within SECONDS] [--only micro|torch]
#		[--control] [--warm] [--calm] BUILD DEVICE
#
# A run starts the native program and ours M times each (default 1), alternating, and takes the best value of each line.
# On a shared machine other tenants slow down whole processes, seconds or minutes by a third and more, native or not;
# the best value excludes these. The N runs alternate, too. The table shows the medians of the runs and of all starts.
# After SECONDS the script starts no new round, once all runs have had the same number of starts.
#
# PIN binds every program to these processors and disables address randomisation (setarch -R). PIN=quiet selects the
# four least disturbed processors before each pair of starts (quiet.c). RAW names a file for every single value: run,
# program, side, line, value. --control starts the native program twice each time and compares it with itself, which
# shows the accuracy of such a comparison on this machine. --warm: each run keeps two processes that have run the
# PyTorch program once, and measures in them (again.py): three times as many measurements in the same time. --calm,
# with PIN set to one processor: a start counts only if a loop on that processor runs within 5 % of its best speed
# right before and right after the start; otherwise the start is repeated.
#
# BUILD is a build folder (bin/gangway, lib/gangway). DEVICE is an argument of `gangway run --on`, or just "unix" or
# "tcp", for which the script starts a server.
# A row is one line of bench/micro.cu or bench/torch_bench.py. The last column is always ours/native, also for *_GBps,
# where more is better.
runs=5
best=1
within=
only=
control=
warm=
calm=
while [ "${1#--}" != "$1" ]; do
	case $1 in
	--runs) runs=$2; shift 2 ;;
	--best) best=$2; shift 2 ;;
	--within) within=$2; shift 2 ;;
	--only) only=$2; shift 2 ;;
	--control) control=yes; shift ;;
	--warm) warm=yes; shift ;;
	--calm) calm=yes; shift ;;
	*) echo "compare.sh: unknown option $1" >&2; exit 2 ;;
	esac
done
build=${1:?which build folder?}
device=${2:?which device?}
here=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp -d) || exit 1
server=
end() {
	for pipe in "$out"/*/ask; do
		[ ! -e "$pipe" ] || timeout 5 sh -c 'echo >"$0"' "$pipe"
	done
	[ -z "$server" ] || kill $server
	[ -z "$SERVER_LOG" ] || cp "$out/serve.log" "$SERVER_LOG"
	rm -rf "$out"
}
trap end EXIT
all=${RAW:-$out/all}
: >"$all"

begin() { # side, folder, command...
	who=$1 where=$2
	shift 2
	[ "$who" != ours ] || set -- "$build/bin/gangway" run --on "$device" -- "$@"
	${PIN:+setarch -R} ${where:+taskset -c "$where"} "$@"
}
once() { # side, program, command...
	who=$1 which=$2
	shift 2
	if [ "$warm$which" = yestorch ]; then
		timeout 300 sh -c 'echo "$1" >"$0/ask" && exit $(cat "$0/answer")' "$out/$who.$run" "$out/last $pin"
	else
		begin "$who" "$pin" "$@" >"$out/last" 2>&1
	fi
}
# Whether our core is undisturbed, as far as the loop shows.
least=999999999
is_calm() {
	[ -n "$calm" ] || return 0
	now=$("$out/quiet" -t "$pin")
	[ "$now" -ge $least ] || least=$now
	[ $((now * 100)) -le $((least * 105)) ]
}
left_out=0
run() { # side, program, command...
	until is_calm; do
		sleep 0.1
	done
	if ! once "$@"; then
		echo "FAILED ($?): $*"
		tail -5 "$out/last"
		touch "$out/failed"
	elif is_calm; then
		grep -E '^[a-zA-Z0-9_]+ -?[0-9.]+$' "$out/last" | sed "s/^/$run $2 $1 /" >>"$all"
	else
		left_out=$((left_out + 1))
		run "$@"
	fi
}

case $device in
unix | tcp)
	address=unix:$out/socket
	[ "$device" = tcp ] && address=tcp://127.0.0.1:0
	"$build/bin/gangway" serve --on nvidia --listen "$address" 2>"$out/serve.log" &
	server=$!
	sleep 3
	device=$(sed -n 's/.*listening on //p' "$out/serve.log")
	[ -n "$device" ] || { cat "$out/serve.log"; exit 1; }
	;;
esac

pin=$PIN
case $calm$PIN in
yes | yes*[!0-9]*) echo "compare.sh: --calm needs PIN, the number of one processor" >&2; exit 2 ;;
esac
if [ "$PIN" = quiet ] || [ -n "$calm" ]; then
	cc -O2 -o "$out/quiet" "$here/gpu/quiet.c" || exit 1
fi
if [ "$only" != torch ]; then
	nvcc -O2 -std=c++17 -arch=native -o "$out/micro" "$here/micro.cu" || exit 1
fi
# The order alternates from round to round: when the native program was always first, the second one was faster even in
# identical machine code.
pair() { # program, command...
	[ "$PIN" != quiet ] || pin=$("$out/quiet" 4)
	if [ $((turn % 2)) = 0 ]; then
		run native "$@"
		[ -z "$control" ] || run again "$@"
		run ours "$@"
	else
		run ours "$@"
		[ -z "$control" ] || run again "$@"
		run native "$@"
	fi
}
warm_up() { # side: start the processes that wait for once()
	for run in $(seq 0 $((runs - 1))); do
		from=$out/$1.$run
		mkdir "$from" && mkfifo "$from/ask" "$from/answer" || exit 1
		begin "$1" '' python3 "$here/gpu/again.py" "$from" "$here/torch_bench.py" &
	done
}
if [ -n "$warm" ]; then
	warm_up native
	[ -z "$control" ] || warm_up again
	warm_up ours
	for pipe in "$out"/*/answer; do
		[ "$(timeout 300 cat "$pipe")" = 0 ] || { tail -5 "${pipe%/answer}/first"; exit 1; }
	done
fi
turn=0
began=$(date +%s)
while [ $turn -lt $((runs * best)) ]; do
	run=$((turn % runs)) # spread each run over the whole time, so that its best value is from a quiet moment
	if [ $run = 0 ] && [ $turn -gt 0 ] && [ $(($(date +%s) - began)) -ge "${within:-999999}" ]; then
		break
	fi
	[ "$only" = torch ] || pair micro "$out/micro"
	[ "$only" = micro ] || pair torch python3 "$here/torch_bench.py"
	turn=$((turn + 1))
done
best=$((turn / runs))

sort -s -k2,2 -k4,4 -k3,3 -k1,1n "$all" | awk -v runs="$runs" -v best="$best" '
	function median(v, n,   i, j, t) {
		for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] < v[j-1]; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
		return n % 2 ? v[(n+1)/2] : (v[n/2] + v[n/2+1]) / 2
	}
	{
		key = $2 " " $4; at = key SUBSEP $3 SUBSEP $1
		if (!(key in seen)) { seen[key] = 1; order[++n] = key }
		if (!(at in index_of)) index_of[at] = ++cnt[key, $3]
		i = index_of[at]
		one[key, $3, ++ones[key, $3]] = $5 + 0
		if (!((key, $3, i) in val) || better($4, $5 + 0, val[key, $3, i])) val[key, $3, i] = $5 + 0
		if ($4 == "checksum" && sum && sum != $5) differs = 1
		if ($4 == "checksum") sum = $5
	}
	function better(line, x, y) { return line ~ /GBps/ ? x > y : x < y }
	function of(k, who,   j, v) {
		for (j = 1; j <= cnt[k, who]; j++) v[j] = val[k, who, j] + 0
		return cnt[k, who] ? median(v, cnt[k, who]) : 0
	}
	function of_all(k, who,   j, v) {
		for (j = 1; j <= ones[k, who]; j++) v[j] = one[k, who, j]
		return ones[k, who] ? median(v, ones[k, who]) : 0
	}
	END {
		printf "%-34s %12s %12s %8s", "median of " runs (best > 1 ? ", best of " best : ""), "native", "ours", "ratio"
		if (best > 1) printf "  %12s %12s %8s", "of all: native", "ours", "ratio"
		print "  native again/native"
		for (i = 1; i <= n; i++) {
			k = order[i]; x = of(k, "native"); y = of(k, "ours"); z = of(k, "again"); z = x ? z / x : 0
			printf "%-34s %12.3f %12.3f %8.3f", k, x, y, x ? y / x : 0
			if (best > 1) { x = of_all(k, "native"); y = of_all(k, "ours"); printf "  %14.3f %12.3f %8.3f", x, y, x ? y / x : 0 }
			if (z) printf "  %8.3f", z
			printf "\n"
		}
		if (differs) print "FAILED: the checksums differ"
		exit differs
	}' || touch "$out/failed"
[ $left_out = 0 ] || echo "starts discarded because the processor was disturbed: $left_out"
[ ! -e "$out/failed" ]
