# No server on a loopback port: the fix must not open the port to other machines.
machine
look GANGWAY_DEVICE=tcp://localhost:1 --
