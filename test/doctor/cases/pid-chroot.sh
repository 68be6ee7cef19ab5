# A process in a chroot, where its command line means another program than here.
[ "$(id -u)" = 0 ] || skip "not root"
printf '#include <stdio.h>\n#include <unistd.h>\n#include <string.h>\nint main(int c, char **v) { if (c > 2 && (chroot(v[1]) || chdir("/") || execv(v[2], v + 2))) return 1; puts("ready"); fflush(stdout); while (getchar() != EOF); }\n' >"$dir/enter.c"
cc -static -o "$dir/enter" "$dir/enter.c" 2>/dev/null || skip "no static C library"
ldd "$made/waiter" | grep -q 'lib.*san' && skip "a sanitizer needs /proc in the chroot"
for file in $(ldd "$made/waiter" | grep -o '/[^ ]*'); do put "$file" "$file"; done
put "$made/waiter" /app/waiter
waiter GANGWAY_DEVICE=null -- "$dir/enter" "$root" /app/waiter quiet
doctor -- --pid "$waiting"
