"""Sampled products and softmax, as functions of arrays."""

from __future__ import annotations

import math as mathematics
from typing import Any

from ._arrays import View, element_of, view
from ._csr import Csr
from ._dense import alignment, matrices, packed, typed
from ._errors import InvalidArgument, InvalidType
from ._numbers import Stream, real
from ._placement import Placement
from ._problems import Sddmm, Softmax, SoftmaxBackward
from ._topology import Topology


def mask_of(where: str, mask: Any) -> Topology:
    """The structure of a matrix, or a structure."""
    if isinstance(mask, Topology):
        return mask
    if not isinstance(mask, Csr):
        raise InvalidType(f"cannot {where}: mask is {type(mask).__name__}, and must be a Csr or a Topology")
    return stored(where, "mask", mask).topology


def stored(where: str, name: str, matrix: Any) -> Csr:
    """A matrix that is no transpose of what is stored, whose rows these operations go by."""
    if not isinstance(matrix, Csr):
        raise InvalidType(f"cannot {where}: {name} is {type(matrix).__name__}, and must be a Csr: vostok.csr makes one")
    if matrix.transposed:
        raise InvalidArgument(f"cannot {where}: {name} is a transpose (.T): vostok.tools.transpose makes a stored one")
    return matrix


def floating(where: str, name: str, array: Any, element: str | None) -> tuple[View, str]:
    """A view, and its element type."""
    seen = view(where, name, array)
    found = element_of(seen, element)
    if found is None:
        raise InvalidType(f"cannot {where}: {name} has elements of {seen.dtype}, and must have f32, f16 or bf16")
    return typed(where, name, seen, found), found


def sddmm(
    mask: Csr | Topology,
    lhs: Any,
    rhs: Any,
    *,
    scale: float = 1.0,
    multiplier: Any = None,
    element: str | None = None,
    math: str = "accurate",
    output: str | None = None,
    out: Any = None,
    accumulate: bool = False,
    stream: Stream = 0,
    effort: str = "cached",
) -> Csr:
    """scale * (lhs rhs^T) where the mask has elements: lhs [.., m, n], rhs [.., k, n], mask [m, k] -> Csr with values
    [.., nonzeros].

    multiplier: values [nonzeros], or one set for each of the batch, that the result is multiplied by. element: "bf16"
    where arrays are its bits as uint16. out: where values are written; accumulate: added to what that holds.
    """
    where = "sample a product"
    topology = mask_of(where, mask)
    rows, cols = topology.shape
    left, found = floating(where, "lhs", lhs, element)
    right = typed(where, "rhs", rhs, found)
    batch = left.shape[:-2]
    for name, seen, length in (("lhs", left, rows), ("rhs", right, cols)):
        if (
            len(seen.shape) < 2
            or seen.shape[-2] != length
            or seen.shape[-1] != left.shape[-1]
            or seen.shape[:-2] != batch
        ):
            needed = (*batch, length, left.shape[-1] if left.shape else "n")
            raise InvalidArgument(f"cannot {where}: {name} has shape {seen.shape}, and must have {needed}")
    left, right = matrices(where, "lhs", left).view, matrices(where, "rhs", right).view
    shape = (*batch, topology.nonzeros)
    factor = None if multiplier is None else packed(where, "multiplier", typed(where, "multiplier", multiplier, found))
    if factor is not None and factor.shape not in (shape, shape[-1:]):
        raise InvalidArgument(f"cannot {where}: multiplier has shape {factor.shape}, and must have {shape}")
    if accumulate and out is None:
        raise InvalidArgument(f"cannot {where}: accumulate needs out")
    given = None if out is None else view(where, "out", out)
    place = Placement(where, topology.context, stream, left, right, factor, given)
    written = _values_output(place, shape, found if output is None else output, out)
    a, b = matrices(where, "lhs", place.input(left)), matrices(where, "rhs", place.input(right))
    by = None if factor is None else place.input(factor)
    number = real(where, "scale", scale)
    problem = Sddmm(
        n=left.shape[-1],
        batch=mathematics.prod(batch),
        element=found,
        output=output,
        lhs_layout=a.layout,
        rhs_layout=b.layout,
        lhs_leading=a.leading,
        rhs_leading=b.leading,
        lhs_stride=a.stride,
        rhs_stride=b.stride,
        multiplier_stride=0 if by is None or len(by.shape) == 1 else topology.nonzeros,
        alignment_bytes=alignment(a.view, b.view, written, by),
        math=math,
        scale="one" if number == 1.0 else "host",
        multiply=by is not None,
        accumulate=accumulate,
    )
    plan = topology.plan_for(problem, effort, place.stream)
    workspace, owner = place.workspace(plan.workspace_bytes)
    plan.execute(
        place.stream,
        lhs=a.view.address,
        rhs=b.view.address,
        output=written.address,
        multiplier=0 if by is None else by.address,
        scale=number,
        workspace=workspace,
    )
    del owner
    return _matrix(topology, place.finish(written), found if output is None else output)


def softmax(
    a: Csr,
    *,
    scale: float = 1.0,
    output: str | None = None,
    out: Any = None,
    stream: Stream = 0,
    effort: str = "cached",
) -> Csr:
    """exp(scale * x) by its row's sum, over the nonzeros of each row; elements that a lacks count as -infinity. out:
    where the values are written, which may be those of a."""
    where = "apply softmax"
    values = stored(where, "a", a)._values
    place = Placement(where, a.context, stream, values, None if out is None else view(where, "out", out))
    element = a.element if output is None else output
    written = _values_output(place, values.shape, element, out)
    used = place.input(values)
    number = real(where, "scale", scale)
    problem = Softmax(
        batch=mathematics.prod(a.batch),
        element=a.element,
        output=output,
        alignment_bytes=alignment(used, written),
        scale="one" if number == 1.0 else "host",
    )
    plan = a.topology.plan_for(problem, effort, place.stream)
    workspace, owner = place.workspace(plan.workspace_bytes)
    plan.execute(place.stream, values=used.address, output=written.address, scale=number, workspace=workspace)
    del owner
    return _matrix(a.topology, place.finish(written), element)


def softmax_backward(
    y: Csr, output_gradient: Any, *, scale: float = 1.0, out: Any = None, stream: Stream = 0, effort: str = "cached"
) -> Csr:
    """scale * y * (dy - sum over the row of y * dy): the gradient by what softmax took, of y, which it gave, and
    dy [.., nonzeros] (or a Csr of that structure)."""
    where = "apply the gradient of softmax"
    values = stored(where, "y", y)._values
    gradient = output_gradient._values if isinstance(output_gradient, Csr) else output_gradient
    given = packed(where, "output_gradient", typed(where, "output_gradient", gradient, y.element))
    if given.shape != values.shape:
        raise InvalidArgument(f"cannot {where}: output_gradient has shape {given.shape}, and must have {values.shape}")
    place = Placement(where, y.context, stream, values, given, None if out is None else view(where, "out", out))
    written = _values_output(place, values.shape, y.element, out)
    probabilities, outer = place.input(values), place.input(given)
    number = real(where, "scale", scale)
    problem = SoftmaxBackward(
        batch=mathematics.prod(y.batch),
        element=y.element,
        alignment_bytes=alignment(probabilities, outer, written),
        scale="one" if number == 1.0 else "host",
    )
    plan = y.topology.plan_for(problem, effort, place.stream)
    workspace, owner = place.workspace(plan.workspace_bytes)
    plan.execute(
        place.stream,
        probabilities=probabilities.address,
        output_gradient=outer.address,
        input_gradient=written.address,
        scale=number,
        workspace=workspace,
    )
    del owner
    return _matrix(y.topology, place.finish(written), y.element)


def _values_output(place: Placement, shape: tuple[int, ...], element: str, out: Any) -> View:
    if out is None and place.context.device.gpu:
        place.on_device = True  # a matrix stays where it is used
    written = place.output(shape, element, out)
    if not written.is_packed():
        raise InvalidArgument(f"cannot {place.where}: out has strides {written.strides}, and must be packed")
    return written


def _matrix(topology: Topology, values: Any, element: str) -> Csr:
    return Csr(topology, view("make a sparse matrix", "values", values), element=element)
