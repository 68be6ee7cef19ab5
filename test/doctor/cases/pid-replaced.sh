# A process that still uses the library from before an upgrade.
mkdir -p "$root/prefix/lib"
cp -R "$lib" "$root/prefix/lib/gangway"
waiter LD_LIBRARY_PATH="$root/prefix/lib/gangway" GANGWAY_DEVICE=null -- "$made/waiter"
rm "$root"/prefix/lib/gangway/libcuda.so*
put "$lib/libcuda.so.1" /prefix/lib/gangway/libcuda.so.1
doctor -- --pid "$waiting"
