"""Products of a sparse and a dense matrix, as functions of arrays."""

from __future__ import annotations

import math as mathematics
from dataclasses import replace
from typing import Any

from ._arrays import View, packed_strides, view
from ._csr import Csr
from ._dense import alignment, bias_of, matrices, packed, turned, typed
from ._errors import InvalidArgument, InvalidType
from ._numbers import Stream, real
from ._placement import Placement
from ._problems import Spmm


def spmm(
    a: Csr,
    b: Any,
    *,
    bias: Any = None,
    bias_per: str = "row",
    residual: Any = None,
    activation: str = "none",
    scale: float = 1.0,
    math: str = "accurate",
    output: str | None = None,
    out: Any = None,
    accumulate: bool = False,
    stream: Stream = 0,
    effort: str = "cached",
) -> Any:
    """activation(scale * A B + bias + residual): a [m, k] times b [.., k, n] or [k] -> [.., m, n] or [m].

    bias: f32 or the element type, [m], or [n] with bias_per="column". residual: as the result.
    activation: none, relu, gelu, gelu_tanh or silu. math: strict, accurate or tf32. output: the result's element
    type, default that of a. out: where it is written; accumulate: added to what that holds. Values of a that are
    batched need b batched by the same axes.
    """
    where = "multiply"
    dense = _operand(where, "b", b, a)
    is_vector = len(dense.shape) == 1
    if is_vector:
        if out is not None or residual is not None:
            raise InvalidArgument(f"cannot {where}: b has one axis, and out or residual was given: b[:, None] has two")
        dense = _column(dense)
    call = _Product(where, a, dense, "b", bias, bias_per, activation, scale, math, output, stream, effort)
    result = call.run(False, (*dense.shape[:-2], a.shape[0], dense.shape[-1]), residual, out, accumulate)
    return result.reshape(result.shape[:-1]) if is_vector else result


def linear(
    x: Any,
    w: Csr,
    bias: Any = None,
    *,
    residual: Any = None,
    activation: str = "none",
    scale: float = 1.0,
    math: str = "accurate",
    output: str | None = None,
    out: Any = None,
    stream: Stream = 0,
    effort: str = "cached",
) -> Any:
    """activation(scale * x W^T + bias + residual), as a layer of a network: x [.., in], w [out, in] -> [.., out].

    bias: f32 or the element type, [out]. The others: as spmm. Nothing is transposed on the way.
    """
    where = "apply a linear layer"
    given = _operand(where, "x", x, w)
    if not given.shape:
        raise InvalidArgument(f"cannot {where}: x has no axes, and must have [.., {w.shape[1]}]")
    rows = given
    if not w.batch and len(given.shape) != 2:
        rows = _reshaped(packed(where, "x", given), (mathematics.prod(given.shape[:-1]), given.shape[-1]))
    dense = turned(rows)
    call = _Product(where, w, dense, "x", bias, "row", activation, scale, math, output, stream, effort)
    shape = (*given.shape[:-1], w.shape[0])
    flat = (*rows.shape[:-1], w.shape[0])
    return call.run(True, shape, residual, out, False, flat)


def _operand(where: str, name: str, array: Any, a: object) -> View:
    if not isinstance(a, Csr):
        raise InvalidType(f"cannot {where}: the matrix is {type(a).__name__}, and must be a Csr: vostok.csr makes one")
    return typed(where, name, array, a.element)


def _column(vector: View) -> View:
    owner = vector.owner if vector.on_device else vector.owner[:, None]
    return replace(vector, shape=(*vector.shape, 1), strides=(*vector.strides, vector.dtype.itemsize), owner=owner)


def _reshaped(seen: View, shape: tuple[int, ...]) -> View:
    """A packed view with another shape."""
    owner = seen.owner if seen.on_device else seen.owner.reshape(shape)
    return replace(seen, shape=shape, strides=packed_strides(shape, seen.dtype.itemsize), owner=owner)


class _Product:
    """One call: what is the same whichever way round the dense operand and the result are."""

    def __init__(
        self,
        where: str,
        a: Csr,
        dense: View,
        name: str,
        bias: Any,
        bias_per: str,
        activation: str,
        scale: float,
        math: str,
        output: str | None,
        stream: Stream,
        effort: str,
    ) -> None:
        self.where, self.a, self.name, self.effort, self.stream = where, a, name, effort, stream
        self.dense = matrices(where, name, self._checked(dense)).view
        self.scale = real(where, "scale", scale)
        self.element = a.element if output is None else output
        self.bias, bias_element = self._checked_bias(bias, bias_per)
        self.fields: dict[str, Any] = {
            "n": dense.shape[-1],
            "batch": mathematics.prod(dense.shape[:-2]),
            "values_per_batch": bool(a.batch),
            "element": a.element,
            "output": output,
            "sparse_transposed": a.transposed,
            "math": math,
            "bias": "none" if self.bias is None else f"per_{bias_per}",
            "bias_element": bias_element,
            "activation": activation,
            "scale": "one" if self.scale == 1.0 else "host",
        }

    def _checked(self, dense: View) -> View:
        rows, cols = self.a.shape
        if len(dense.shape) < 2 or dense.shape[-2] != cols:
            given = dense.shape if self.name == "b" else (*dense.shape[:-2], dense.shape[-1], dense.shape[-2])
            needed = f"[.., {cols}, n]" if self.name == "b" else f"[.., {cols}]"
            raise InvalidArgument(
                f"cannot {self.where}: {self.name} has shape {given}, and must have {needed} for a matrix of "
                f"shape {(rows, cols)}"
            )
        if self.a.batch and self.a.batch != dense.shape[:-2]:
            raise InvalidArgument(
                f"cannot {self.where}: {self.name} has the leading axes {dense.shape[:-2]}, and the matrix "
                f"{self.a.batch}"
            )
        return dense

    def _checked_bias(self, bias: Any, per: str) -> tuple[View | None, str]:
        if per not in ("row", "column"):
            raise InvalidArgument(f"cannot {self.where}: bias_per is {per!r}, and may be row or column")
        if bias is None:
            return None, "f32"
        length = self.a.shape[0] if per == "row" else self.dense.shape[-1]
        return bias_of(self.where, bias, length, self.a.element)

    def run(
        self,
        is_turned: bool,
        shape: tuple[int, ...],
        residual: Any,
        out: Any,
        accumulate: bool,
        flat: tuple[int, ...] | None = None,
    ) -> Any:
        """The result of that shape, which is computed as `flat`, and the other way round where it is turned."""
        where, a = self.where, self.a
        added = (
            None if residual is None else packed(where, "residual", typed(where, "residual", residual, self.element))
        )
        if added is not None and added.shape != shape:
            raise InvalidArgument(f"cannot {where}: residual has shape {added.shape}, and must have {shape}")
        if accumulate and out is None:
            raise InvalidArgument(f"cannot {where}: accumulate needs out")
        given = None if out is None else view(where, "out", out)
        place = Placement(where, a.context, self.stream, self.dense, a._values, self.bias, added, given)
        output = place.output(shape, self.element, out)
        written = output
        if flat is not None and flat != shape:
            written = _reshaped(_packed_output(where, output), flat)
        if added is not None:
            written = _packed_output(where, written)
        result = matrices(where, "out", turned(written) if is_turned else written, True)
        dense = matrices(where, self.name, place.input(self.dense))
        values = place.input(a._values)
        bias = None if self.bias is None else place.input(self.bias)
        residue = None if added is None else place.input(added)
        problem = Spmm(
            **self.fields,
            dense_layout=dense.layout,
            dense_leading=dense.leading,
            dense_stride=dense.stride,
            output_layout=result.layout,
            output_leading=result.leading,
            output_stride=result.stride,
            alignment_bytes=alignment(values, dense.view, output, bias, residue),
            residual=residue is not None,
            accumulate=accumulate,
        )
        plan = a.topology.plan_for(problem, self.effort, place.stream)
        workspace, owner = place.workspace(plan.workspace_bytes)
        plan.execute(
            place.stream,
            values=values.address,
            dense=dense.view.address,
            output=output.address,
            bias=0 if bias is None else bias.address,
            residual=0 if residue is None else residue.address,
            scale=self.scale,
            workspace=workspace,
        )
        del owner
        return place.finish(output)


def _packed_output(where: str, output: View) -> View:
    if not output.is_packed():
        raise InvalidArgument(
            f"cannot {where}: out has shape {output.shape} and strides {output.strides}: it must be packed"
        )
    return output
