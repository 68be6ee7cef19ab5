# A server died and left its socket: without a name programs pass over it, and run on the processor unasked.
machine
serve /run/gangway.sock
kill -9 $servers
wait $servers 2>/dev/null
look --
