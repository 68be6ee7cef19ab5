"""One line of results from each Python library that computes on a GPU and is installed here: CuPy, Triton, JAX,
PyTorch. test/gpu/libraries.sh compares these lines natively and through Gangway."""
import hashlib
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def show(name, *arrays):
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    print(name, digest.hexdigest()[:16], flush=True)


def cupy():
    import cupy as cp
    import numpy as np

    a = cp.arange(512 * 512, dtype=cp.float32).reshape(512, 512) / 1000
    product = cp.asnumpy(a @ a.T)
    assert np.allclose(product, cp.asnumpy(a) @ cp.asnumpy(a).T, rtol=1e-3)
    show("cupy gemm", product)
    wave = cp.sin(cp.arange(8192, dtype=cp.float64))
    there = cp.fft.fft(wave)
    assert cp.allclose(cp.fft.ifft(there).real, wave)
    show("cupy fft", cp.asnumpy(there))
    element = cp.exp(wave) * 2 + cp.sqrt(cp.abs(wave))
    assert np.allclose(cp.asnumpy(element), np.exp(cp.asnumpy(wave)) * 2 + np.sqrt(np.abs(cp.asnumpy(wave))))
    show("cupy elementwise", cp.asnumpy(element))
    kernel = cp.ElementwiseKernel("float64 x, float64 y", "float64 z", "z = x * y + 1", "fused")
    show("cupy kernel", cp.asnumpy(kernel(wave, element)))
    show("cupy sort and sum", cp.asnumpy(cp.sort(wave)), cp.asnumpy(wave.sum()))


def triton():
    import torch
    import triton_kernel

    x = torch.arange(100000, device="cuda", dtype=torch.float32)
    y = torch.ones_like(x) * 3
    z = triton_kernel.add(x, y)
    assert torch.equal(z, x + y)
    show("triton add", z.cpu().numpy())


def jax():
    import jax
    import jax.numpy as jnp
    import numpy as np

    assert jax.devices()[0].platform == "gpu", jax.devices()
    a = jnp.arange(256 * 256, dtype=jnp.float32).reshape(256, 256) / 5000
    product = np.asarray(jax.jit(lambda m: m @ m.T)(a))
    assert np.allclose(product, np.asarray(a) @ np.asarray(a).T, rtol=1e-2)
    show("jax gemm", product)
    gradient = np.asarray(jax.grad(lambda v: jnp.sum(jnp.tanh(v) ** 2))(a[0]))
    show("jax grad", gradient)


def torch():
    import torch
    import torch.nn.functional as F

    torch.manual_seed(1)
    x = torch.randn(64, 3, 32, 32, device="cuda")
    w = torch.randn(16, 3, 3, 3, device="cuda", requires_grad=True)
    torch.backends.cudnn.deterministic = True
    out = F.conv2d(x, w, padding=1).relu().mean()
    out.backward()
    show("torch conv", w.grad.cpu().numpy())
    a = torch.randn(100, 100, device="cuda", dtype=torch.float64)
    solution = torch.linalg.solve(a, torch.eye(100, device="cuda", dtype=torch.float64))
    assert torch.allclose(a @ solution, torch.eye(100, device="cuda", dtype=torch.float64), atol=1e-8)
    show("torch solve", solution.cpu().numpy())
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total and torch.cuda.utilization() >= 0
    print("torch devices", torch.cuda.device_count(), torch.cuda.get_device_name(), total)


for which in sys.argv[1:] or ["torch", "cupy", "triton", "jax"]:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    globals()[which]()
