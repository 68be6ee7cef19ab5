#!/bin/sh
# Check that our libraries do not disturb a program that does not use CUDA: harmless.sh GANGWAY PROGRAM
#
# With our libraries preloaded or under gangway run, output, exit status and open descriptors are the same.
gangway=$1
program=$2
here=$(cd "$(dirname "$0")" && pwd)
lib=$(cd "$(dirname "$gangway")/../lib/gangway" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH LD_AUDIT LD_PRELOAD
PATH=$PATH:/usr/sbin:/sbin
cd "$work" || exit 1

# The command in "$@"; programs that can list their open descriptors print them.
case $program in
bash)
	command -v bash >/dev/null || { echo "skipped: bash is not installed"; exit 77; }
	set -- bash -c 'echo text; echo error >&2; cd /proc/$$/fd && echo *; (exit 3) | cat; x=$(ls /bin/sh); echo ${#x}; exit 5'
	;;
python3)
	command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
	set -- python3 -c 'import os, sys, threading, subprocess, socket; print(sorted(os.listdir("/proc/self/fd"))); print(subprocess.check_output(["echo", "a"], env={})); print(1/0)'
	;;
node)
	"$here/../helper/package.sh" node nodejs || exit
	set -- node -e 'const fs = require("fs"); console.log(fs.readdirSync("/proc/self/fd").join(" ")); require("child_process").execSync("true"); console.error("e"); process.exitCode = 4'
	;;
sshd)
	"$here/../helper/package.sh" sshd openssh-server || exit
	ssh-keygen -q -t ed25519 -N '' -f key || exit 1
	echo "HostKey $work/key" >config
	set -- "$(command -v sshd)" -t -f "$work/config"
	;;
*) echo "unknown program $program" && exit 1 ;;
esac

failed=0
"$@" >out.native 2>err.native </dev/null
status=$?
compare() { # variant, status
	[ "$2" = "$status" ] || { echo "FAIL: $program $1 returns $2, expected $status"; failed=1; }
	cmp -s "out.native" out || { echo "FAIL: $program $1: stdout differs"; diff out.native out; failed=1; }
	cmp -s "err.native" err || { echo "FAIL: $program $1: stderr differs"; diff err.native err; failed=1; }
}
"$gangway" run -- "$@" >out 2>err </dev/null
compare "under gangway run" $?
LD_PRELOAD=$lib/libcuda.so.1 "$@" >out 2>err </dev/null
compare "with libcuda.so.1 preloaded" $?
LD_PRELOAD=$lib/libnvidia-ml.so.1 "$@" >out 2>err </dev/null
compare "with libnvidia-ml.so.1 preloaded" $?
LD_AUDIT=$lib/libgangway-follow.so:$lib/libgangway-audit.so LD_PRELOAD=$lib/libcuda.so.1:$lib/libnvidia-ml.so.1 "$@" >out 2>err </dev/null
compare "with all of it" $?

# sshd cannot list its descriptors: strace counts opened and closed ones, including the files that the loader maps.
[ "$program" = sshd ] && command -v strace >/dev/null || exit $failed
open_descriptors() { # strace's options
	strace -f -o trace -e trace=openat,open,socket,pipe2,epoll_create1,eventfd2,memfd_create,close "$@" >/dev/null 2>&1 </dev/null
	grep -q 'exited with' trace || return 1
	grep -E '= [0-9]+$' trace | awk '/ close\(/ { n-- } !/ close\(/ { n++ } END { print n + 0 }'
}
native=$(open_descriptors "$@") || { echo "note: strace does not work here; descriptors are not compared"; exit $failed; }
ours=$(open_descriptors -E "LD_AUDIT=$lib/libgangway-follow.so:$lib/libgangway-audit.so" -E "LD_PRELOAD=$lib/libcuda.so.1:$lib/libnvidia-ml.so.1" "$@")
[ "$native" = "$ours" ] || { echo "FAIL: $program leaves $ours descriptors open, natively $native"; failed=1; }
exit $failed
