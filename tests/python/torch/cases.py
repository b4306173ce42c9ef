"""Matrices, references in float64 and tolerances for the tests of vostok.torch."""

import torch

import vostok.torch as vt

OPS = torch.ops.vostok
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


class Case:
    """A function of floating tensors, the same in float64, and such tensors."""

    def __init__(self, call, reference, *tensors, differentiable=True):
        self.call = call
        self.reference = reference
        self.tensors = tensors
        self.differentiable = differentiable

    def check(self, tensors=None, factor=8):
        """Result and gradients of these tensors, or of its own, are those of the reference."""
        tensors = self.tensors if tensors is None else tensors
        leaves = [tensor.detach().requires_grad_(self.differentiable) for tensor in tensors]
        wide = [tensor.detach().double().requires_grad_(self.differentiable) for tensor in tensors]
        result, expected = self.call(*leaves), self.reference(*wide)
        assert_close(result, expected, factor=factor)
        if not self.differentiable:
            return
        pairs = zip(torch.autograd.grad(result.sum(), leaves), torch.autograd.grad(expected.sum(), wide))
        for leaf, (found, exact) in zip(leaves, pairs):
            assert found.dtype == leaf.dtype
            assert_close(found, exact, scale=max(1.0, float(exact.abs().max())), factor=4 * factor)


FUNCTIONS = ("attention", "linear", "linear_packed", "sddmm", "softmax", "spmm")


def every_function(device="cpu", dtype=torch.float32, index_dtype=torch.int32):
    """Case by the operator's name, one of FUNCTIONS. The matrix is the same for all: [8, 12], with an empty row."""
    a, dense = matrix(8, 12, dtype=dtype, device=device)
    a = vt.Csr(a.values, a.row_offsets.to(index_dtype), a.column_indices.to(index_dtype), a.shape)
    places = dense != 0
    frozen = vt.SparseLinear(a).freeze(4)

    def drawn(*shape):
        return torch.randn(shape, device=device).to(dtype)

    def full(values):
        return torch.zeros(places.shape, dtype=values.dtype, device=device).masked_scatter(places, values)

    def attended(q, k, v):
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~places, float("-inf"))
        return torch.softmax(scores.masked_fill(~places.any(-1, keepdim=True), 0), -1) * places @ v

    def normalised(values):
        scores = full(values).masked_fill(~places, float("-inf"))
        return torch.softmax(0.5 * scores, -1)[places]

    return {
        "linear": Case(
            lambda x, values, bias, residual: OPS.linear(
                x, values, a.row_offsets, a.column_indices, 8, 12, bias, residual
            ),
            lambda x, values, bias, residual: x @ full(values).mT + bias + residual,
            drawn(3, 12), a.values, drawn(8), drawn(3, 8),
        ),
        "spmm": Case(
            lambda values, b, bias, residual: vt.spmm(
                a.with_values(values), b, bias=bias, residual=residual, scale=0.5
            ),
            lambda values, b, bias, residual: 0.5 * full(values) @ b + bias[:, None] + residual,
            a.values, drawn(2, 12, 5), drawn(8), drawn(2, 8, 5),
        ),
        "sddmm": Case(
            lambda lhs, rhs, multiplier: vt.sddmm(a, lhs, rhs, scale=0.5, multiplier=multiplier),
            lambda lhs, rhs, multiplier: 0.5 * (lhs @ rhs.mT)[:, places] * multiplier,
            drawn(2, 8, 5), drawn(2, 12, 5), drawn(a.values.shape[0]),
        ),
        "softmax": Case(lambda values: vt.softmax(a.with_values(values), scale=0.5).values, normalised, a.values),
        "attention": Case(
            lambda q, k, v: vt.attention(q, k, v, a), attended, drawn(2, 8, 4), drawn(2, 12, 4), drawn(2, 12, 5)
        ),
        "linear_packed": Case(
            lambda x: frozen(x), lambda x: x @ full(a.values.double()).mT, drawn(3, 12), differentiable=False
        ),
    }  # fmt: skip
