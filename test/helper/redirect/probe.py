"""Load libcuda.so.1 through ctypes, or in another namespace, and print the line of probe.c."""
import ctypes
import sys


def version_of(function):
    version = ctypes.c_int(-1)
    return version.value if function(ctypes.byref(version)) else version.value


def by_name(name):
    library = ctypes.CDLL(name)
    # A library built from probe.c exports `use`, which calls cuDriverGetVersion through DT_NEEDED.
    return library.use(None) if name.endswith("linked.so") else version_of(library.cuDriverGetVersion)


def in_space(name):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.dlmopen.restype = libc.dlsym.restype = ctypes.c_void_p
    libc.dlmopen.argtypes = [ctypes.c_long, ctypes.c_char_p, ctypes.c_int]
    libc.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    libc.dlerror.restype = ctypes.c_char_p
    library = libc.dlmopen(-1, name.encode(), 2)
    if not library:
        sys.exit(libc.dlerror().decode())
    return version_of(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(libc.dlsym(library, b"cuDriverGetVersion")))


def report(version):
    ours = decoy = 0
    for line in open("/proc/self/maps"):
        fields = line.split(None, 5)
        if len(fields) < 6 or "/libcuda.so" not in fields[5] or int(fields[2], 16):
            continue
        if "/lib/gangway/" in fields[5]:
            ours += 1
        else:
            decoy += 1
    print("ours %d decoy %d version %d" % (ours, decoy, version))


report(in_space(sys.argv[2]) if sys.argv[1] == "--space" else by_name(sys.argv[1]))
