"""Sweeps over the sizes, types and shapes that NVIDIA's libraries treat differently: one line for each case, with a digest
of the result or the name of the error. test/gpu/sweep.sh compares these lines natively and through Gangway.

	sweep.py NAME...	NAME: a function of this file whose name starts with sweep_, without that prefix
"""
import hashlib
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# 1, small sizes, powers of two, their neighbours, primes, and products of small and large primes.
SIZES = [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 27, 31, 32, 64, 97, 100, 121, 127, 128, 243, 256, 257, 343, 500, 512, 625, 997,
         1000, 1024, 1331, 2048, 2187, 4093, 4096, 4097, 8191, 8192, 10007, 16384, 30030, 32768, 65521, 65536, 65537, 100000,
         131072, 262144, 524287, 524288, 999983, 1048576]


def show(name, compute):
    """Prints the digest of the arrays that `compute` returns."""
    try:
        arrays = compute()
        digest = hashlib.sha256()
        for array in arrays if isinstance(arrays, (list, tuple)) else [arrays]:
            digest.update(array.tobytes())
        result = digest.hexdigest()[:16]
    except Exception as error:
        result = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
    print(f"{name}: {result}", flush=True)


def verdict(result, expected):
    """An array that says whether two tensors are equal but for rounding."""
    import torch

    return torch.isclose(result, expected, rtol=1e-3, atol=1e-3).all().cpu().numpy()


def torch_seeded():
    import torch

    torch.manual_seed(1)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    return torch


def sweep_fft():
    """cuFFT through PyTorch: every size, both precisions, complex and real, batches, several dimensions."""
    torch = torch_seeded()
    for size in SIZES:
        for dtype in torch.complex64, torch.complex128, torch.float32, torch.float64:
            x = torch.randn(size, dtype=dtype, device="cuda")
            transform = torch.fft.fft if dtype.is_complex else torch.fft.rfft
            show(f"fft {size} {dtype}", lambda: transform(x).cpu().numpy())
        x = torch.randn(size, dtype=torch.complex64, device="cuda")
        show(f"ifft {size}", lambda: torch.fft.ifft(x).cpu().numpy())
        if size > 1:
            show(f"irfft {size}", lambda: torch.fft.irfft(x[: size // 2 + 1], n=size).cpu().numpy())
        if size <= 8192:
            batch = torch.randn(7, size, dtype=torch.complex64, device="cuda")
            show(f"fft batch 7 x {size}", lambda: torch.fft.fft(batch).cpu().numpy())
            show(f"fft strided 7 x {size}", lambda: torch.fft.fft(batch, dim=0).cpu().numpy())
        if size <= 512:
            plane = torch.randn(size, size, dtype=torch.complex64, device="cuda")
            show(f"fft2 {size}", lambda: torch.fft.fft2(plane).cpu().numpy())
        if size <= 64:
            cube = torch.randn(size, size, size, device="cuda")
            show(f"rfftn {size}", lambda: torch.fft.rfftn(cube).cpu().numpy())


def sweep_cupy_fft():
    """cuFFT through CuPy: plans in place, half-precision and batches; and its callbacks' plain counterpart."""
    import cupy as cp

    for size in SIZES:
        x = cp.sin(cp.arange(size, dtype=cp.float64) * 1.7) + 1j * cp.cos(cp.arange(size))
        for dtype in cp.complex64, cp.complex128:
            y = x.astype(dtype)
            show(f"cupy fft {size} {cp.dtype(dtype)}", lambda: cp.asnumpy(cp.fft.fft(y)))

            def in_place():
                z = y.copy()
                plan = cp.cuda.cufft.Plan1d(
                    size, cp.cuda.cufft.CUFFT_C2C if dtype == cp.complex64 else cp.cuda.cufft.CUFFT_Z2Z, 1)
                plan.fft(z, z, cp.cuda.cufft.CUFFT_FORWARD)
                return cp.asnumpy(z)

            show(f"cupy fft in place {size} {cp.dtype(dtype)}", in_place)


def sweep_blas():
    """cuBLAS and cublasLt through PyTorch: products of odd, prime and aligned shapes, transposed, batched, every type."""
    torch = torch_seeded()
    shapes = [(1, 1, 1), (1, 17, 33), (31, 1, 7), (16, 16, 16), (64, 64, 64), (97, 101, 103), (128, 256, 64), (255, 257, 129),
              (512, 512, 512), (1, 4096, 1024), (1000, 3, 1000), (1024, 1024, 1024)]
    types = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]
    for m, n, k in shapes:
        for dtype in types:
            a, b = torch.randn(m, k, device="cuda").to(dtype), torch.randn(k, n, device="cuda").to(dtype)
            c = torch.randn(n, device="cuda").to(dtype)
            show(f"gemm {m} {n} {k} {dtype}", lambda: (a @ b).cpu().view(torch.uint8).numpy())
            show(f"gemm transposed {m} {n} {k} {dtype}",
                 lambda: (b.t().contiguous().t().mT.contiguous() @ a.mT).cpu().contiguous().view(torch.uint8).numpy())
            show(f"addmm {m} {n} {k} {dtype}", lambda: torch.addmm(c, a, b).cpu().view(torch.uint8).numpy())
            if m * n * k < 1 << 22:
                batch = a.expand(5, m, k).contiguous()
                show(f"bmm 5 x {m} {n} {k} {dtype}",
                     lambda: torch.bmm(batch, b.expand(5, k, n).contiguous()).cpu().view(torch.uint8).numpy())
    for n in 16, 64, 1024:
        a = torch.randint(-8, 8, (n, n), dtype=torch.int8, device="cuda")
        show(f"int8 gemm {n}", lambda: torch._int_mm(a, a).cpu().numpy())
    for n in SIZES:
        x = torch.randn(n, device="cuda")
        show(f"dot {n}", lambda: torch.dot(x, x).cpu().numpy())
        show(f"norm {n}", lambda: torch.linalg.vector_norm(x).cpu().numpy())


def sweep_solver():
    """cuSOLVER and MAGMA's replacements through PyTorch."""
    torch = torch_seeded()
    for n in 1, 2, 3, 5, 16, 31, 32, 33, 64, 97, 128, 257, 512:
        for dtype in torch.float32, torch.float64, torch.complex64, torch.complex128:
            a = torch.randn(n, n, dtype=dtype, device="cuda") + n * torch.eye(n, dtype=dtype, device="cuda")
            symmetric = a @ a.mH
            b = torch.randn(n, 3, dtype=dtype, device="cuda")
            show(f"solve {n} {dtype}", lambda: torch.linalg.solve(a, b).cpu().numpy())
            show(f"cholesky {n} {dtype}", lambda: torch.linalg.cholesky(symmetric).cpu().numpy())
            show(f"qr {n} {dtype}", lambda: [t.cpu().numpy() for t in torch.linalg.qr(a)])
            show(f"eigh {n} {dtype}", lambda: torch.linalg.eigvalsh(symmetric).cpu().numpy())
            if n <= 128:
                show(f"svd {n} {dtype}", lambda: torch.linalg.svdvals(a).cpu().numpy())
                batch = a.expand(4, n, n).contiguous()
                show(f"lu batch 4 x {n} {dtype}", lambda: [t.cpu().numpy() for t in torch.linalg.lu_factor(batch)])


def sweep_sparse():
    """cuSPARSE through PyTorch and CuPy."""
    torch = torch_seeded()
    for n in 1, 2, 7, 32, 97, 256, 1000, 4096:
        for dtype in torch.float32, torch.float64, torch.complex64:
            dense = torch.randn(n, n, dtype=dtype, device="cuda") * (torch.rand(n, n, device="cuda") < 0.1)
            vector = torch.randn(n, 5, dtype=dtype, device="cuda")
            csr = dense.to_sparse_csr()
            # cuSPARSE adds in no fixed order: compare with the dense product.
            show(f"spmm {n} {dtype}", lambda: verdict(csr @ vector, dense @ vector))
            show(f"spmv {n} {dtype}", lambda: verdict(csr @ vector[:, 0].contiguous(), dense @ vector[:, 0]))
            show(f"coo {n} {dtype}", lambda: dense.to_sparse().coalesce().values().cpu().numpy())
            if n <= 1000:
                show(f"spgemm {n} {dtype}", lambda: (csr @ csr).to_dense().cpu().numpy())


def sweep_random():
    """cuRAND through CuPy, and PyTorch's own generators."""
    import cupy as cp
    torch = torch_seeded()

    for size in SIZES:
        cp.random.seed(7)
        show(f"curand uniform {size}", lambda: cp.asnumpy(cp.random.rand(size)))
        show(f"curand normal {size}", lambda: cp.asnumpy(cp.random.randn(size, dtype=cp.float32)))
        show(f"curand integers {size}", lambda: cp.asnumpy(cp.random.randint(0, 1000, size)))
        show(f"torch normal {size}", lambda: torch.randn(size, device="cuda").cpu().numpy())
        show(f"torch permutation {size}", lambda: torch.randperm(size, device="cuda").cpu().numpy())


def sweep_algorithms():
    """Thrust and CUB through CuPy and PyTorch: sorts, scans, reductions, unique values, histograms, every type."""
    import cupy as cp
    torch = torch_seeded()

    for size in SIZES:
        for dtype in cp.int8, cp.uint16, cp.int32, cp.int64, cp.float16, cp.float32, cp.float64:
            x = (cp.arange(size, dtype=cp.int64) * 7919 % 10007).astype(dtype)
            show(f"sort {size} {cp.dtype(dtype)}", lambda: cp.asnumpy(cp.sort(x)))
            show(f"argsort {size} {cp.dtype(dtype)}", lambda: cp.asnumpy(cp.argsort(x)))
            show(f"sum {size} {cp.dtype(dtype)}", lambda: cp.asnumpy(x.sum()))
        y = torch.arange(size, device="cuda") * 7919 % 1009
        show(f"cumsum {size}", lambda: torch.cumsum(y, 0).cpu().numpy())
        show(f"unique {size}", lambda: [t.cpu().numpy() for t in torch.unique(y, return_counts=True)])
        show(f"histogram {size}", lambda: torch.bincount(y).cpu().numpy())
        show(f"nonzero {size}", lambda: torch.nonzero(y % 3).cpu().numpy())
        show(f"topk {size}", lambda: torch.topk(y, min(size, 17)).values.cpu().numpy())


def sweep_cudnn():
    """cuDNN through PyTorch: convolutions of odd shapes, strides, groups and types; norms, pooling, attention, RNNs."""
    torch = torch_seeded()
    F = torch.nn.functional

    for dtype in torch.float32, torch.float16, torch.bfloat16, torch.float64:
        for channels, size, kernel, stride, groups in [
                (1, 5, 1, 1, 1), (3, 17, 3, 1, 1), (8, 32, 5, 2, 1), (16, 31, 3, 1, 16), (64, 28, 3, 2, 4), (32, 7, 7, 1, 1)]:
            x = torch.randn(3, channels, size, size, device="cuda").to(dtype)
            w = torch.randn(2 * channels, channels // groups, kernel, kernel, device="cuda").to(dtype)

            def convolve(x=x, w=w):
                a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
                out = F.conv2d(a, b, stride=stride, padding=kernel // 2, groups=groups)
                out.float().pow(2).sum().backward()
                return [t.detach().float().cpu().numpy() for t in (out, a.grad, b.grad)]

            show(f"conv2d {channels} {size} {kernel} {stride} {groups} {dtype}", convolve)
            show(f"batch norm {channels} {size} {dtype}",
                 lambda: F.batch_norm(x, None, None, training=True).float().cpu().numpy())
            show(f"max pool {channels} {size} {dtype}", lambda: F.max_pool2d(x, 2, padding=1).float().cpu().numpy())
        q = torch.randn(2, 4, 65, 64, device="cuda").to(dtype)
        show(f"attention {dtype}", lambda: F.scaled_dot_product_attention(q, q, q).float().cpu().numpy())
    for kind in "LSTM", "GRU", "RNN":
        for width in 1, 13, 64:
            net = getattr(torch.nn, kind)(width, width + 3, num_layers=2, bidirectional=True).cuda()
            x = torch.randn(11, 5, width, device="cuda")
            show(f"{kind} {width}", lambda: net(x)[0].detach().cpu().numpy())


for which in sys.argv[1:]:
    globals()["sweep_" + which]()
