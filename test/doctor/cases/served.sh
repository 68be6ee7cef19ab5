# No problem: a server answers.
machine
serve /run/gangway.sock
look GANGWAY_DEVICE=unix:/run/gangway.sock --
