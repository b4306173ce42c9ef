"""A sparse matrix whose values were packed once for many products."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._arrays import view
from ._context import Context, default_context
from ._csr import Csr
from ._dense import packed, typed
from ._errors import InvalidArgument
from ._numbers import Stream, integer
from ._packed import PackedValues
from ._placement import Placement
from ._plans import SpmmPlan
from ._problems import Spmm

_WHERE = "multiply packed values"


class PackedMatrix:
    """A [m, k] for products with [k, n] of every n up to the largest that it was packed for: `p @ x`. Made by Csr.pack
    and vostok.load_packed; the CSR values are not needed any more."""

    def __init__(self, packed_values: PackedValues, plan: SpmmPlan, problem: Spmm, shape: tuple[int, int]) -> None:
        self.packed = packed_values
        self.plan = plan
        self.problem = problem
        self.shape = shape

    @property
    def nbytes(self) -> int:
        """Device memory of the packed values."""
        return self.packed.nbytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Into a file that vostok.load_packed reads, which is there whole or not at all."""
        self.packed.save(path)

    def __matmul__(self, x: Any) -> Any:
        return self.multiply(x)

    def multiply(self, x: Any, *, out: Any = None, stream: Stream = 0) -> Any:
        """A x: x [k, n], row-major without gaps -> [m, n]."""
        element = self.problem.element
        dense = packed(_WHERE, "x", typed(_WHERE, "x", x, element))
        most = max(self.problem.n_values)
        if len(dense.shape) != 2 or dense.shape[0] != self.shape[1] or dense.shape[1] > most:
            needed = f"[{self.shape[1]}, n] with n up to {most}"
            raise InvalidArgument(f"cannot {_WHERE}: x has shape {dense.shape}, and must have {needed}")
        if not dense.on_device and dense.address % 16:
            dense = view(_WHERE, "x", np.array(dense.owner))
        place = Placement(_WHERE, self.plan.context, stream, dense)
        output = place.output((self.shape[0], dense.shape[1]), element, out)
        if not output.is_packed():
            raise InvalidArgument(f"cannot {_WHERE}: out has strides {output.strides}, and must be packed")
        used = place.input(dense)
        workspace, owner = place.workspace(self.plan.workspace_bytes)
        self.plan.execute(
            place.stream,
            packed=self.packed,
            dense=used.address,
            output=output.address,
            workspace=workspace,
            n=dense.shape[1],
        )
        del owner
        return place.finish(output)

    def __repr__(self) -> str:
        return f"PackedMatrix(shape={self.shape}, format={self.packed.format!r}, nbytes={self.nbytes})"


def _problem(n: int | tuple[int, ...], **fields: Any) -> Spmm:
    values = n if isinstance(n, tuple) else (n,)
    if not values:
        raise InvalidArgument("cannot pack values: n is (), and must name a number of columns at least")
    values = tuple(integer("pack values", "n", value) for value in values)
    return Spmm(n_values=values, value_lifetime="persistent", **fields)


def pack(
    a: Csr, n: int | tuple[int, ...], *, math: str = "accurate", effort: str = "cached", family: str = ""
) -> PackedMatrix:
    """What Csr.pack does."""
    if a.batch:
        raise InvalidArgument(f"cannot pack values: the matrix has the leading axes {a.batch}, and must have none")
    problem = _problem(n, element=a.element, sparse_transposed=a.transposed, math=math)
    plan = a.context.plan(problem, a.topology, effort=effort, family=family)
    values = a._values
    return PackedMatrix(plan.pack(values.address, values.stream), plan, problem, a.shape)


def load_packed(
    source: Any,
    n: int | tuple[int, ...],
    *,
    element: str = "f32",
    math: str = "accurate",
    context: Context | None = None,
    keep: str = "everything",
    effort: str = "cached",
) -> PackedMatrix:
    """A matrix that PackedMatrix.save (or PackedValues.to_bytes) wrote, for products with n columns: a path, or bytes.
    element: f32, f16 or bf16, as when it was packed. keep: what the structure keeps in device memory: "everything",
    what "packing" reads, or what "execution" reads. Errors: IoFailure; format_mismatch where plans for n read another
    format; InvalidArgument, OutOfMemory."""
    chosen = default_context() if context is None else context
    found = chosen.load_packed(source, keep=keep)
    topology = found.topology
    turned = found.format.endswith("/transposed")
    problem = _problem(n, element=element, sparse_transposed=turned, math=math)
    plan = chosen.plan(problem, topology, effort=effort, packed_format=found.format)
    rows, cols = topology.shape
    return PackedMatrix(found, plan, problem, (cols, rows) if turned else (rows, cols))
