"""numba: kernels compared with numpy."""
import math

import numpy as np
from numba import cuda
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
from report import check, finish


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + math.sin(y[i])


@cuda.jit
def block_sums(x, out):
    shared = cuda.shared.array(128, np.float64)
    t = cuda.threadIdx.x
    shared[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    n = 64
    while n:
        if t < n:
            shared[t] += shared[t + n]
        cuda.syncthreads()
        n //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])


@cuda.jit
def uniform(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)


@cuda.reduce
def add(a, b):
    return a + b


def elementwise():
    x, y = np.random.rand(1000), np.random.rand(1000)
    device = cuda.to_device(y)
    axpy[8, 128](2.0, x, device)
    return np.allclose(device.copy_to_host(), 2 * x + np.sin(y))


def sums():
    x, out = np.random.rand(1024), np.zeros(1)
    block_sums[8, 128](x, out)
    return np.allclose(out[0], x.sum())


def random():
    out = np.zeros(1024, np.float32)
    uniform[8, 128](create_xoroshiro128p_states(1024, seed=1), out)
    return 0.45 < out.mean() < 0.55


check("elementwise", elementwise)
check("shared memory and atomics", sums)
check("reduce", lambda: np.isclose(add(np.arange(1000.0)), 499500))
check("random", random)
finish()
