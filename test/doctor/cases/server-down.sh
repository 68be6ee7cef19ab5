# The device is a server that nobody has started.
machine
look GANGWAY_DEVICE=unix:/run/gangway.sock --
