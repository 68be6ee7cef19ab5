# A container with the mounted folder of a server outside, which is not running.
machine
text /run/.containerenv ''
text /proc/self/mountinfo '22 1 0:21 / / rw - overlay overlay rw' '23 22 0:22 / /run rw - tmpfs tmpfs rw' \
	'24 23 8:1 /srv/gangway /run/gangway rw - ext4 /dev/sda1 rw'
look GANGWAY_DEVICE=unix:/run/gangway/gangway.sock --
