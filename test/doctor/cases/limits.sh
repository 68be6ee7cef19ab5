# A low limit of open files.
machine
ulimit -Sn 100
look --
