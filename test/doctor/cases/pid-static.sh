# A process of a static program, for which gangway run would not help.
printf '#include <stdio.h>\nint main(void) { puts("ready"); fflush(stdout); while (getchar() != EOF); }\n' >"$dir/static.c"
cc -static -o "$dir/static" "$dir/static.c" 2>/dev/null || skip "no static C library"
waiter GANGWAY_DEVICE=null -- "$dir/static"
doctor -- --pid "$waiting"
