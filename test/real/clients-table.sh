#!/bin/sh
# Print the table of doc/clients.md from the results of the Python clients: clients-table.sh BUILD
#
# Runs the tests real-* that python.sh makes (test/real/CMakeLists.txt) on the CPU device. They install gigabytes from PyPI.
build=$1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
echo '| client | works on cpu | does not |'
echo '|---|---|---|'
for client in triton cupy cuda-core numba taichi; do
	(cd "$build" && ctest -V -R "^real-$client\$") >"$log" 2>&1
	list() { sed -n "s/^[0-9]*: $1 //p" "$log" | paste -sd, - | sed 's/,/, /g'; }
	works=$(list ok)
	echo "| $client | ${works:-not tested here} | $(list FAIL) |"
done
