"""cuda.core: NVRTC programs as machine code and as PTX."""
import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch
from report import check, finish

SOURCE = """template <typename T> __global__ void axpy(T a, const T *x, T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}"""
N = 1000

device = Device()
device.set_current()
stream = device.create_stream()


def axpy(form):
    options = ProgramOptions(std="c++17", arch="sm_%d%d" % device.compute_capability)
    code = Program(SOURCE, "c++", options).compile(form, name_expressions=("axpy<float>",))
    memory = LegacyPinnedMemoryResource()
    one, two = memory.allocate(4 * N), memory.allocate(4 * N)
    x, y = np.from_dlpack(one).view(np.float32), np.from_dlpack(two).view(np.float32)
    x[:], y[:] = np.arange(N), 1
    launch(stream, LaunchConfig(grid=8, block=128), code.get_kernel("axpy<float>"), np.float32(2), int(one.handle),
           int(two.handle), np.int32(N))
    stream.sync()
    return np.array_equal(y, 2 * np.arange(N, dtype=np.float32) + 1)


check("cubin", lambda: axpy("cubin"))
check("PTX", lambda: axpy("ptx"))
finish()
