#!/bin/sh
# On a machine with a GPU: a worker in the sandbox computes what a worker outside computes; and which system calls it makes.
#
#	test/gpu/sandbox.sh BUILD			serve with --sandbox strict: calls.sh, libraries.sh and smi.sh pass;
#							as root also calls.sh with --isolate user
#	test/gpu/sandbox.sh BUILD record [FOLDER]	run the programs under strace, with --sandbox off and on; FOLDER
#							receives the lists of system calls
#
# record prints three lists for each: calls before the worker is ready for a client (opening the device), calls after, and
# calls that failed with EPERM or EACCES after.  STRACE: the strace to use.  PROGRAMS: what to run; default a selection.
here=$(cd "$(dirname "$0")" && pwd)
if [ "${2:-check}" = check ]; then
	failed=0
	export SERVE="--sandbox strict"
	for what in calls libraries; do
		"$here/$what.sh" "$1" unix tcp || failed=1
	done
	"$here/smi.sh" "$1" || [ $? = 77 ] || failed=1
	if [ "$(id -u)" = 0 ]; then
		SERVE="--sandbox strict --isolate user" "$here/calls.sh" "$1" unix || failed=1
	fi
	exit $failed
fi

. "$here/common.sh"
keep=${3:-$out}
mkdir -p "$keep"
strace=${STRACE:-$(command -v strace)}
[ -n "$strace" ] || { echo "skipped: no strace; name one in STRACE"; exit 77; }
programs=${PROGRAMS:-"remote-copies remote-events remote-graphs remote-graph_copies remote-hostmem remote-ipc remote-managed
	remote-objects remote-prints remote-resets torch cupy triton jax smi"}

program_run() { # name
	case $1 in
	remote-*) set -- "$build/test/remote/$1" ;;
	smi) "$gangway" smi >/dev/null 2>&1 && return ;;
	*) python3 -c "import $1" 2>/dev/null || return 77
		set -- python3 "$here/libraries.py" "$1" ;;
	esac
	DEVICE=$address GANGWAY_DEVICE=$address timeout -k 5 120 "$gangway" run --on "$address" -- "$@" >"$out/said" 2>&1 </dev/null
}

# strace leaves its processes behind when it is killed, so the server itself gets the signals.
traced_stop() {
	parent=$(sed -n 's/^gangway\[\([0-9]*\)\]: listening.*/\1/p' "$out/log" | head -n 1)
	kill "$parent" && sleep 1 && kill "$parent" 2>/dev/null
	wait $server
	server=
}

# A worker reports READY (64, "@") on its socket to the parent, descriptor 3; threads belong to the process that made them.
summarise() { # trace, name
	rm -f "$keep/$2".*
	awk -v to="$keep/$2" '
		function leader(t, n) { for (n = 0; (t in maker) && n < 64; n++) t = maker[t]; return t }
		{ pid = $1; call = $2; sub(/\(.*/, "", call) }
		FNR == NR {
			if ($2 ~ /^clone3?\(/) thread[pid] = /CLONE_THREAD/
			if ((/^[0-9]+ +clone3?\(/ || /<\.\.\. clone3? resumed>/) && thread[pid] && match($0, /\) = [0-9]+$/))
				maker[substr($0, RSTART + 4)] = pid
			next
		}
		{ process = leader(pid) }
		/sendmsg\(3, .*iov_base="@\\0\\0\\0/ { ready[process] = 1; next }
		call ~ /^[a-z_0-9]+$/ { if (process in ready) after[call]++; else before[call]++ }
		(process in ready) && / = -1 E(PERM|ACCES)/ {
			if ($2 == "<...") call = $3
			denied[call]++
			if (!(call in example)) example[call] = $0
		}
		END {
			for (c in before) print before[c], c | ("sort -k2 >" to ".before")
			for (c in after) print after[c], c | ("sort -k2 >" to ".after")
			for (c in denied) print denied[c], c, example[c] | ("sort -k2 >" to ".denied")
		}' "$1" "$1"
	touch "$keep/$2.before" "$keep/$2.after" "$keep/$2.denied"
	for list in before after; do
		echo "note  $2: $(wc -l <"$keep/$2.$list") system calls $list ready:" $(awk '{ print $2 }' "$keep/$2.$list")
	done
	[ ! -s "$keep/$2.denied" ] || sed "s/^/note  $2: denied: /" "$keep/$2.denied"
}

for mode in off auto; do
	for transport in unix tcp; do
		name=$mode-$transport
		SERVE="--sandbox $mode" UNDER="$strace -f -qq -s 80 -o $out/$name.trace" serve $transport
		for program in $programs; do
			program_run $program
			status=$?
			[ $status != 77 ] || continue
			[ $status = 0 ] && echo "ok    $name: $program" && continue
			echo "FAIL  $name: $program: status $status"
			tail -n 5 "$out/said" | sed 's/^/      /'
			failed=1
		done
		grep 'sandbox\|ended by' "$out/log" | sed "s/^/note  $name: /"
		traced_stop
		summarise "$out/$name.trace" $name
		grep -hoE 'open(at)?\((AT_FDCWD, )?"[^"]*", O_[A-Z_|]*' "$out/$name.trace" | sed -E 's/[0-9]{2,}/N/g' | sort | uniq -c | sort -rn >"$keep/$name.files"
	done
done
exit $failed
