"""Calls nvidia-ml-py as vLLM, PyTorch and others do, then every function of it: each must have a defined result."""
import ctypes
import inspect
import os
import pynvml as n

n.nvmlInit()
version = n.nvmlSystemGetDriverVersion()
assert version.startswith("580."), version
cuda = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
number = ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
assert cuda.cuDriverGetVersion(ctypes.byref(number)) == 0
assert n.nvmlSystemGetCudaDriverVersion_v2() == number.value
assert n.nvmlDeviceGetCount() == count.value > 0
for i in range(count.value):
    h = n.nvmlDeviceGetHandleByIndex(i)
    name = ctypes.create_string_buffer(256)
    uuid = ctypes.create_string_buffer(16)
    total = ctypes.c_size_t()
    assert cuda.cuDeviceGetName(name, 256, i) == 0
    assert cuda.cuDeviceGetUuid_v2(uuid, i) == 0
    assert cuda.cuDeviceTotalMem_v2(ctypes.byref(total), i) == 0
    text = uuid.raw.hex()
    text = "GPU-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    assert n.nvmlDeviceGetName(h) == name.value.decode()
    assert n.nvmlDeviceGetUUID(h) == text
    memory = n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2)
    assert memory.total == total.value == memory.free + memory.used
    assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(text)) == i
    assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId(n.nvmlDeviceGetPciInfo(h).busId)) == i
    # A worker may have made a context for this process, which does not use it.
    assert all(p.pid == os.getpid() for p in n.nvmlDeviceGetComputeRunningProcesses(h))
    rates = n.nvmlDeviceGetUtilizationRates(h)
    assert 0 <= rates.gpu <= 100 and 0 <= rates.memory <= 100

# Functions that need a device handle at most: each returns a value or raises an NVML error, nothing else.
answered = refused = 0
handle = n.nvmlDeviceGetHandleByIndex(0)
for name, f in sorted(vars(n).items()):
    if not name.startswith(("nvmlDeviceGet", "nvmlSystemGet", "nvmlDeviceIs")) or not inspect.isfunction(f):
        continue
    needed = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty and p.kind in (0, 1)]
    if len(needed) > 1 or (needed and needed[0].name not in ("handle", "device")):
        continue
    try:
        f(*[handle][: len(needed)])
        answered += 1
    except n.NVMLError:
        refused += 1
    except (TypeError, AttributeError, ValueError, UnboundLocalError) as e:  # a fault of nvidia-ml-py: a hidden argument
        print(name, repr(e))
assert answered > 20, answered
print(version, "answered:", answered, "refused:", refused, "pid", os.getpid())
n.nvmlShutdown()
