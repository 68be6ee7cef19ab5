# A process that uses a vendor's driver from its own path.
put "$made/vendor-cuda.so" /lib/libcuda.so.1
waiter LD_LIBRARY_PATH="$root/lib" GANGWAY_DEVICE=null -- "$made/waiter"
doctor -- --pid "$waiting"
