"""Kernels as in Triton's tutorials, compared with PyTorch on the CPU."""
import torch
import triton
import triton.language as tl
from report import check, finish


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def softmax_kernel(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * stride
    column = tl.arange(0, BLOCK)
    v = tl.load(x + row + column, mask=column < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row + column, e / tl.sum(e, axis=0), mask=column < n)


@triton.jit
def matmul_kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + n[None, :])
        sum = tl.dot(x, y, sum)
    tl.store(c + m[:, None] * N + n[None, :], sum)


def upload(tensor):
    """A copy made by the driver: PyTorch's own kernels have no PTX."""
    copy = torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda")
    copy.copy_(tensor)
    return copy


def add():
    x, y, out = torch.randn(1000), torch.randn(1000), torch.empty(1000, device="cuda")
    add_kernel[(4,)](upload(x), upload(y), out, 1000, BLOCK=256)
    return torch.allclose(out.cpu(), x + y)


def softmax():
    x, out = torch.randn(20, 300), torch.empty(20, 300, device="cuda")
    softmax_kernel[(20,)](out, upload(x), 300, 300, BLOCK=512)
    return torch.allclose(out.cpu(), torch.softmax(x, 1), atol=1e-6)


def matmul(dtype):
    a, b = torch.randn(64, 64).to(dtype), torch.randn(64, 64).to(dtype)
    c = torch.empty(64, 64, device="cuda")
    matmul_kernel[(2, 2)](upload(a), upload(b), c, 64, 64, BM=32, BN=32, BK=32)
    return torch.allclose(c.cpu(), a.float() @ b.float(), atol=1e-2)


torch.manual_seed(1)
check("add", add)
check("softmax", softmax)
check("dot of f16", lambda: matmul(torch.float16))
check("dot of bf16", lambda: matmul(torch.bfloat16))
finish()
