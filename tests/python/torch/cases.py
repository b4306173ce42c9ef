"""Matrices, references in float64 and tolerances for the tests of vostok.torch."""

import torch

import vostok.torch as vt

EPSILON = {torch.float32: 2**-20, torch.float16: 2**-10, torch.bfloat16: 2**-7}


def weight(rows, cols, density=0.4, dtype=torch.float32, device="cpu"):
    """A dense matrix of which a share is not zero; the first row is empty where there are several."""
    dense = torch.randn(rows, cols, device=device) * (torch.rand(rows, cols, device=device) < density)
    if rows > 2:
        dense[0] = 0
    return dense.to(dtype)


def matrix(rows, cols, density=0.4, dtype=torch.float32, device="cpu"):
    """The same as (Csr, dense)."""
    dense = weight(rows, cols, density, dtype, device)
    return vt.csr(dense), dense


def layer(rows, cols, density=0.4, **options):
    """A SparseLinear and the nn.Linear of the same values."""
    dense = torch.nn.Linear(cols, rows, device=options.pop("device", "cpu"))
    with torch.no_grad():
        dense.weight.copy_(weight(rows, cols, density, device=dense.weight.device))
    return vt.SparseLinear.from_dense(dense, **options), dense


def assert_close(found, reference, scale=None, factor=4.0):
    """Within the rounding of the element type, relative to the largest magnitude of the reference."""
    assert found.shape == reference.shape
    assert not found.isnan().any()
    found, reference = found.detach(), reference.detach()
    scale = reference.abs().max() if scale is None else scale
    bound = factor * EPSILON[found.dtype] * max(float(scale), 1e-30)
    error = float((found.double() - reference.double()).abs().max()) if found.numel() else 0.0
    assert error <= bound, f"error {error:.3g}, bound {bound:.3g}"
