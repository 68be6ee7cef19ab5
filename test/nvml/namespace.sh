#!/bin/sh
# namespace.sh PROGRAM...: runs it in a new pid namespace, as in a container.
unshare --fork --pid --mount-proc true 2>/dev/null || {
	echo "skipped: no pid namespaces for this user"
	exit 77
}
exec unshare --fork --pid --mount-proc "$@"
