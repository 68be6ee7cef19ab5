# A container without the server's socket.
machine
text /run/.containerenv ''
look GANGWAY_DEVICE=unix:/run/gangway.sock --
