"""PyTorch's own database of operators (torch.testing, op_db): each operator in five types with up to three of its sample
inputs, on the GPU and on the CPU. Prints one verdict for each operator and type: right, differs, or the name of the error.
test/gpu/sweep.sh compares the verdicts natively and through Gangway.

	operators.py [DEVICE]		default cuda
"""
import itertools
import sys
import types
import unittest
import warnings

import torch

try:
    import expecttest
except ImportError:  # torch.testing derives its test cases from a class of this package, which is not needed here
    sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase)

from torch.testing._internal.common_methods_invocations import op_db

warnings.filterwarnings("ignore")
DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cuda"
TYPES = torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool
SAMPLES = 3


def move(value):
    if isinstance(value, torch.Tensor):
        return value.detach().to(DEVICE)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(move(v) for v in value)
    if isinstance(value, dict):
        return {k: move(v) for k, v in value.items()}
    if isinstance(value, torch.device):
        return torch.device(DEVICE)
    return value


def tensors(result):
    if isinstance(result, torch.Tensor):
        return [result.detach().cpu()]
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in tensors(r)]
    return []


def same(a, b):
    return len(a) == len(b) and all(
        x.shape == y.shape and torch.allclose(
            x.to(torch.complex128), y.to(torch.complex128), rtol=1e-3, atol=1e-3, equal_nan=True)
        for x, y in zip(a, b) if not x.is_sparse and not y.is_sparse and x.layout == torch.strided)


def verdict(op, dtype):
    try:
        samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES))
    except Exception as error:
        return f"no samples ({type(error).__name__})"
    right = True
    for sample in samples:
        try:
            torch.manual_seed(3)
            expected = tensors(op(sample.input, *sample.args, **sample.kwargs))
        except Exception:
            continue
        try:
            torch.manual_seed(3)
            result = tensors(op(move(sample.input), *move(tuple(sample.args)), **move(sample.kwargs)))
        except Exception as error:
            return type(error).__name__
        right = right and same(expected, result)
    return "right" if right else "differs"


for op in sorted(op_db, key=lambda o: (o.name, o.variant_test_name)):
    for dtype in TYPES:
        if dtype in op.dtypes:
            print(f"{op.name} {op.variant_test_name} {dtype}: {verdict(op, dtype)}", flush=True)
