# The chosen server is not running.
machine
look GANGWAY_DEVICE=unix:/run/gangway.sock --
