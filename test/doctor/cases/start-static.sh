# A static program whose dynamic child loads our library: no problem.
printf '#include <unistd.h>\nint main(int c, char **v) { return execv(v[c - c + 1], v + 1); }\n' >"$dir/starts.c"
cc -static -o "$dir/starts" "$dir/starts.c" 2>/dev/null || skip "no static C library"
ldd "$made/waiter" | grep -q libtsan && skip "TSan needs more thread-local storage than an indirectly started program has"
doctor GANGWAY_DEVICE=null -- --seconds 60 -- "$dir/starts" "$made/waiter" 0 </dev/null
