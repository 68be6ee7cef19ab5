#!/bin/sh
# --isolate user: the workers of two users are two other users without capabilities, and each serves its client.
# isolate.sh BUILD SERVED TRANSPORT CLIENT
. "$(dirname "$0")/../remote/faults.sh"
[ "$(id -u)" = 0 ] || { echo "skipped: only root can change its user"; exit 77; }
nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
$nobody true 2>/dev/null || { echo "skipped: setpriv does not work here"; exit 77; }
mkdir "$dir/program"
cp -a "$build"/lib/gangway/libcuda.so* "$client" "$dir/program/"
chmod -R a+rX "$dir"
client=$dir/program/$(basename "$client")
export LD_LIBRARY_PATH="$dir/program"

value() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status" | tr '\t' ' '; }
check_worker() { # PID, where it comes from: sets $user
	user=$(value "$1" Uid)
	user=${user%% *}
	[ "$(value "$1" Uid)" = "$user $user $user $user" ] || fail "$2: the user is $(value "$1" Uid)"
	[ "$(value "$1" Gid)" = "$user $user $user $user" ] || fail "$2: the group is $(value "$1" Gid)"
	[ -z "$(value "$1" Groups)" ] || fail "$2: further groups: $(value "$1" Groups)"
	[ "$user" -ge 5000 ] && [ "$user" -le 5009 ] || fail "$2: user $user is not in the range"
	for set in CapEff CapPrm CapInh CapAmb; do
		[ "$(value "$1" $set)" = 0000000000000000 ] || fail "$2: $set is $(value "$1" $set)"
	done
	for task in /proc/"$1"/task/*; do
		grep -q "^Uid:[[:space:]]$user[[:space:]]$user[[:space:]]$user[[:space:]]$user$" "$task/status" || fail "$2: a thread is another user"
	done
}
serve --isolate user=5000-5009 --group "$(id -gn 65534 2>/dev/null || echo nogroup)"
hold root hold
check_worker "$(worker_of $held)" "root's client"
first=$user first_worker=$(worker_of $held)
hold again hold
check_worker "$(worker_of $held)" "root's second client"
[ "$user" = "$first" ] || fail "two clients of one user have workers of two users"
program=$client
client="$dir/as-nobody"
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$nobody" "$program" >"$client"
chmod 755 "$client"
hold nobody hold
check_worker "$(worker_of $held)" "another user's client"
[ "$user" != "$first" ] || fail "the clients of two users have workers of one user"
second="setpriv --reuid=$user --regid=$user --clear-groups"
$second kill -0 "$first_worker" 2>/dev/null && fail "a worker can signal the worker of another user"
$second cat "/proc/$first_worker/environ" >/dev/null 2>&1 && fail "a worker can read the worker of another user"
release
until_true 60 gone $held || fail "the client does not end: $(cat "$dir/nobody.out")"
exec 9>&-
finish
