#!/bin/sh
# The view of PATH.status: a user sees the clients of that user, and the sums of all others without names; root of another pid
# namespace, as in a container, is no owner: it cannot end clients, and sees only those of its namespace.
# status-privacy.sh BUILD SERVED unix CLIENT
. "$(dirname "$0")/faults.sh"
request=$build/test/remote/remote-status-request
user="setpriv --reuid 65534 --regid 65534 --clear-groups"
contained="unshare --pid --fork --kill-child --mount-proc"
group=$(getent group 65534 | cut -d : -f 1)
chmod 755 "$dir"
[ "$(id -u)" = 0 ] && [ -n "$group" ] && $user "$client" none </dev/null >/dev/null 2>&1 || { echo "skipped: needs root and another user" && exit 77; }

serve --group "$group"
root_client=$client
hold root hold
root=$held
exec 8>&9 9>&-
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$user" "$root_client" >"$dir/client" && chmod 755 "$dir/client"
client=$dir/client
hold other hold
other=$held

# sees WHO COMMAND...: the status as WHO gets it, in three formats, is in $dir/WHO.
sees() {
	name=$1
	shift
	for path in /status /metrics /status.txt; do
		"$@" timeout 60 "$request" "$GANGWAY_DEVICE.status" GET $path || echo "failed"
	done >"$dir/$name" 2>&1
	[ "$(grep -c '^200$' "$dir/$name")" = 3 ] || fail "$name does not get the status: $(cat "$dir/$name")"
}
shown() { # NAME PID: how many of the three formats show the client
	grep -qE "\"pid\": $2," "$dir/$1" && n=1 || n=0
	grep -q "client=\"$2\"" "$dir/$1" && n=$((n + 1))
	grep -qP "\tpid=$2\t" "$dir/$1" && n=$((n + 1))
	echo $n
}
may_end() { # COMMAND...: does the server end the session of the client of root?
	"$@" timeout 60 "$request" "$GANGWAY_DEVICE.status" POST "/clients/$(worker_of "$root")/end" 2>&1 | head -n 1
}
described() { sees user $user && [ "$(shown user "$other")" = 3 ] && grep -q '(others)' "$dir/user"; }
until_true 60 described
sees user $user
[ "$(shown user "$other")" = 3 ] || fail "a user does not see that user's client: $(cat "$dir/user")"
[ "$(shown user "$root")" = 0 ] || fail "a user sees the process of root: $(cat "$dir/user")"
[ "$(grep -c '(others)' "$dir/user")" -ge 3 ] || fail "a user does not see the sums of the others: $(cat "$dir/user")"
grep -q 'gangway_memory_bytes{worker="0",client="0",user="-1",program="(others)",device="0"} 8388608' "$dir/user" ||
	fail "a user does not see the memory of the others: $(cat "$dir/user")"
[ "$(grep -c "=\"$(worker_of "$root")\"" "$dir/user")" = 0 ] || fail "a user sees the worker of root"
[ "$(may_end $user)" = 403 ] || fail "a user may end a client of root"

sees owner env
[ "$(shown owner "$root")$(shown owner "$other")" = 33 ] || fail "root does not see all clients: $(cat "$dir/owner")"
grep -q '(others)' "$dir/owner" && fail "root sees clients without names: $(cat "$dir/owner")"

# "Root" behind a pid namespace of its own.
if $contained true 2>/dev/null; then
	sees container $contained
	[ "$(shown container "$root")$(shown container "$other")" = 00 ] || fail "root in a container sees other processes: $(cat "$dir/container")"
	grep -q '(others)' "$dir/container" || fail "root in a container does not see the sums: $(cat "$dir/container")"
	[ "$(may_end $contained)" = 403 ] || fail "root in a container may end the clients of others"
	if unshare --user --map-root-user true 2>/dev/null; then
		[ "$(may_end unshare --user --map-root-user)" = 403 ] || fail "root in a user namespace may end the clients of others"
	fi
else
	echo "not tested: pid namespaces"
fi

client=$root_client
release
wait "$other" || fail "the client of the other user fails: $(cat "$dir/other.out")"
[ "$(may_end env)" = 200 ] || fail "root may not end a client"
until_true 60 logged "ending client $root by request" || fail "the log does not report the ended client"
exec 8>&-
wait "$root"
finish
