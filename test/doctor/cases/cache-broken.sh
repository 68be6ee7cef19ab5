# A truncated loader cache.
machine
printf 'glibc-ld.so.cache1.1\377\377\377\177' >"$root/etc/ld.so.cache"
look --
