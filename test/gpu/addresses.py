# Check that a program that calls cuGetProcAddress, as CUDA's runtime does, gets only the vendor driver's functions, so
# that later calls bypass our library. Run by `gangway run --on nvidia`.
import ctypes, re, subprocess, sys


def mapped():  # (first, last, file) of all code mappings
    for line in open('/proc/self/maps'):
        fields = line.split()
        if 'x' in fields[1] and len(fields) > 5:
            first, last = (int(number, 16) for number in fields[0].split('-'))
            yield first, last, fields[5]


cuda = ctypes.CDLL('libcuda.so.1')
if cuda.cuInit(0):
    sys.exit('no device')
code = list(mapped())
ours = next(file for _, _, file in code if 'libcuda.so' in file and '/gangway/' in file)
symbols = subprocess.run(['nm', '-D', '--defined-only', ours], capture_output=True, text=True, check=True).stdout
names = {re.sub(r'_v\d+$|_ptsz$|_ptds$', '', name) for name in re.findall(r' T (cu\w+)', symbols)}
asked = elsewhere = 0
for name in sorted(names):
    for flags in 0, 2:  # 2: the twins for per-thread default streams
        address = ctypes.c_void_p()
        if cuda.cuGetProcAddress_v2(name.encode(), ctypes.byref(address), 13000, ctypes.c_uint64(flags), None) or not address:
            continue
        asked += 1
        file = next((file for first, last, file in code if first <= address.value < last), 'nowhere')
        if 'libcuda.so' not in file or file == ours:
            elsewhere += 1
            print(name, 'is in', file)
print('%d functions, %d of them not the vendor\'s own' % (asked, elsewhere))
sys.exit(elsewhere or asked < 400)
