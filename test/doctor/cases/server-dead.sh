# A server died and left its socket: programs without a chosen device fall back to the processor.
machine
serve /run/gangway.sock
kill -9 $servers
wait $servers 2>/dev/null
look --
