# ld.so.conf.d names our folder, but ldconfig has not run since.
machine
put "$lib/libcuda.so.1" /usr/lib/gangway/libcuda.so.1
text /etc/ld.so.conf.d/00-gangway.conf /usr/lib/gangway
look --
