"""CuPy: arrays, reductions, sorting, random numbers, sparse matrices and FFTs, compared with numpy and SciPy."""
import cupy
import cupyx.scipy.sparse
import numpy as np
import scipy.sparse
from report import check, finish

host = np.arange(5000, dtype=np.float32)[::-1].copy()
x = cupy.asarray(host)
SOURCE = """extern "C" __global__ void plus_one(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + 1;
}"""


def raw_kernel():
    y = cupy.empty_like(x)
    cupy.RawKernel(SOURCE, "plus_one")((20,), (256,), (x, y, np.int32(5000)))
    return np.array_equal(y.get(), host + 1)


def uniform(r):
    return 0.45 < float(r.mean()) < 0.55 and float(r.min()) >= 0 and float(r.max()) <= 1


def sparse():
    m = scipy.sparse.random(100, 100, 0.1, format="csr", dtype=np.float32, random_state=0)
    v = np.arange(100, dtype=np.float32)
    return np.allclose((cupyx.scipy.sparse.csr_matrix(m) @ cupy.asarray(v)).get(), m @ v, rtol=1e-4)


check("elementwise", lambda: np.allclose((x * 2 + cupy.sin(x)).get(), host * 2 + np.sin(host), atol=1e-3))
check("sum", lambda: np.allclose(float(x.sum()), host.sum()))
check("sum along an axis", lambda: np.allclose(x.reshape(50, 100).sum(0).get(), host.reshape(50, 100).sum(0)))
check("sort", lambda: np.array_equal(cupy.sort(x).get(), np.sort(host)))
check("argsort", lambda: np.array_equal(cupy.argsort(x).get(), np.argsort(host)))
check("cumsum", lambda: np.allclose(cupy.cumsum(x).get(), np.cumsum(host), rtol=1e-4))
check("RawKernel", raw_kernel)
check("random.rand", lambda: uniform(cupy.random.rand(10000)))
check("default_rng", lambda: uniform(cupy.random.default_rng(1).random(10000)))
check("sparse", sparse)
check("fft", lambda: np.allclose(cupy.fft.fft(x[:1024]).get(), np.fft.fft(host[:1024]), rtol=1e-3, atol=0.1))
finish()
