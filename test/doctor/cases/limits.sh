# Few open files.
machine
ulimit -Sn 100
look --
