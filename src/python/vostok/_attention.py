"""Attention whose score matrix is sparse, as functions of arrays."""

from __future__ import annotations

import ctypes
import math as mathematics
from typing import Any

import numpy as np

from ._arrays import View, view
from ._csr import Csr
from ._dense import Matrices, alignment, packed, row_major, typed
from ._errors import InvalidArgument
from ._numbers import Stream, integer, real
from ._placement import Placement
from ._problems import SparseAttention, SparseAttentionBackward, shares_heads
from ._sampled import floating, mask_of
from ._topology import Topology


def attention(
    query: Any,
    key: Any,
    value: Any,
    mask: Csr | Topology,
    *,
    bias: Any = None,
    scale: float | None = None,
    softcap: float = 0.0,
    causal: bool = False,
    dropout: float = 0.0,
    seed: int = 0,
    offset: int = 0,
    element: str | None = None,
    math: str = "accurate",
    stream: Stream = 0,
    effort: str = "cached",
) -> Any:
    """softmax(scale Q K^T, at the mask) V: query [.., m, n], key [.., k, n], value [.., k, size], mask [m, k] ->
    [.., m, size]. Leading axes are heads, which share the mask. The last of them may be fewer for key and value: each
    of these heads then serves as many heads of queries that follow one another. scale: default 1 / sqrt(n). softcap:
    scores become softcap tanh(scores / softcap). causal: the last query sees all keys of its row, and each before it
    ends one key earlier. bias: a number for each of the mask's elements in CSR order, [nonzeros] or [.., nonzeros],
    added to its scaled and capped score; -infinity leaves the element out. dropout: the share of probabilities to drop
    at random, between 0 and 1; the others are divided by 1 - dropout, and seed and offset say which are dropped. A
    query without keys gets zeros. element: "bf16" where arrays are its bits as uint16.
    """
    where = "attend"
    topology = mask_of(where, mask)
    call = _Operands(where, topology, query, key, value, element, stream, bias=bias)
    output = call.place.output((*call.batch, topology.shape[0], call.value_size), call.element)
    cap = _softcap(where, softcap)
    drops = call.dropout(dropout, seed, offset)
    options = {"capped": cap > 0, "causal": causal, "dropped": bool(drops)}
    problem = call.problem(math, alignment(*call.views(), output), **options)
    plan = topology.plan_for(problem, effort, call.place.stream)
    workspace, owner = call.place.workspace(plan.workspace_bytes)
    plan.execute(
        call.place.stream,
        query=call.query.view.address,
        key=call.key.view.address,
        value=call.value.view.address,
        bias=_address(call.bias),
        output=output.address,
        scale=_scale(where, scale),
        softcap=cap,
        workspace=workspace,
        **drops,
    )
    del owner
    return call.place.finish(output)


def attention_backward(
    query: Any,
    key: Any,
    value: Any,
    output_gradient: Any,
    mask: Csr | Topology,
    *,
    bias: Any = None,
    scale: float | None = None,
    softcap: float = 0.0,
    causal: bool = False,
    dropout: float = 0.0,
    seed: int = 0,
    offset: int = 0,
    element: str | None = None,
    math: str = "accurate",
    stream: Stream = 0,
    effort: str = "cached",
) -> tuple[Any, ...]:
    """The gradients of attention by query, key and value, given that by its result; and where there is a bias, by that
    of each head, [.., nonzeros]. The forward pass is computed again."""
    where = "apply the gradient of attention"
    topology = mask_of(where, mask)
    call = _Operands(where, topology, query, key, value, element, stream, output_gradient, bias)
    assert call.gradient is not None
    place = call.place
    sizes = {"query": call.query, "key": call.key, "value": call.value}
    gradients = {name: place.output(operand.view.shape, call.element) for name, operand in sizes.items()}
    if call.bias is not None:
        gradients["bias"] = place.output((*call.batch, topology.nonzeros), call.element)
    aligned = alignment(*call.views(), call.gradient.view, *gradients.values())
    cap = _softcap(where, softcap)
    drops = call.dropout(dropout, seed, offset)
    options = {"capped": cap > 0, "causal": causal, "dropped": bool(drops)}
    problem = SparseAttentionBackward(call.problem(math, aligned, **options))
    plan = topology.plan_for(problem, effort, place.stream)
    workspace, owner = place.workspace(plan.workspace_bytes)
    plan.execute(
        place.stream,
        query=call.query.view.address,
        key=call.key.view.address,
        value=call.value.view.address,
        bias=_address(call.bias),
        output_gradient=call.gradient.view.address,
        query_gradient=gradients["query"].address,
        key_gradient=gradients["key"].address,
        value_gradient=gradients["value"].address,
        bias_gradient=_address(gradients.get("bias")),
        scale=_scale(where, scale),
        softcap=cap,
        workspace=workspace,
        **drops,
    )
    del owner
    found: tuple[Any, ...] = place.finish(*gradients.values())
    return found


def _address(seen: View | None) -> int:
    return 0 if seen is None else seen.address


def _scale(where: str, scale: float | None) -> float:
    """0 stands for 1 / sqrt(n) in the C interface, so that it cannot be asked for."""
    if scale is None:
        return 0.0
    number = real(where, "scale", scale)
    if number == 0.0:
        raise InvalidArgument(f"cannot {where}: scale is 0, and must be another number; None means 1 / sqrt(n)")
    return number


def _softcap(where: str, softcap: float) -> float:
    number = real(where, "softcap", softcap)
    if not 0.0 <= number < mathematics.inf:
        raise InvalidArgument(f"cannot {where}: softcap is {number}, and must be positive, or 0 for none")
    return number


def _shared(batch: tuple[int, ...], of_keys: tuple[int, ...]) -> tuple[int, ...]:
    """The leading axes that keys must have: those of queries, or fewer heads in the last of them."""
    return of_keys if shares_heads(batch, of_keys) else batch


class _Operands:
    """Queries, keys and values: checked, and where kernels read them."""

    def __init__(
        self,
        where: str,
        topology: Topology,
        query: Any,
        key: Any,
        value: Any,
        element: str | None,
        stream: Stream,
        output_gradient: Any = None,
        bias: Any = None,
    ) -> None:
        queries, self.element = floating(where, "query", query, element)
        keys, values = (typed(where, name, array, self.element) for name, array in (("key", key), ("value", value)))
        if len(queries.shape) < 2:
            raise InvalidArgument(f"cannot {where}: query has shape {queries.shape}, and must have [.., m, n]")
        self.batch, self.n = queries.shape[:-2], queries.shape[-1]
        self.value_size = values.shape[-1] if values.shape else 0
        self.key_batch = _shared(self.batch, keys.shape[:-2])
        rows, cols = topology.shape
        self._check(where, "query", queries, (*self.batch, rows, self.n))
        self._check(where, "key", keys, (*self.key_batch, cols, self.n))
        self._check(where, "value", values, (*self.key_batch, cols, self.value_size))
        given = {"query": queries, "key": keys, "value": values}
        if output_gradient is not None:
            given["output_gradient"] = typed(where, "output_gradient", output_gradient, self.element)
            self._check(where, "output_gradient", given["output_gradient"], (*self.batch, rows, self.value_size))
        usable = {name: row_major(where, name, seen).view for name, seen in given.items()}
        if output_gradient is not None:  # gradients are packed, and inputs are laid out as theirs
            usable = {name: packed(where, name, seen) for name, seen in usable.items()}
        biases = self._biases(where, bias, topology.nonzeros)
        self.place = Placement(where, topology.context, stream, *usable.values(), biases)
        self.bias = None if biases is None else self.place.input(biases)
        placed = {name: row_major(where, name, self.place.input(seen)) for name, seen in usable.items()}
        self.query, self.key, self.value = placed["query"], placed["key"], placed["value"]
        self.gradient: Matrices | None = placed.get("output_gradient")

    def _biases(self, where: str, bias: Any, nonzeros: int) -> View | None:
        if bias is None:
            return None
        seen = packed(where, "bias", typed(where, "bias", bias, self.element))
        if seen.shape not in ((nonzeros,), (*self.batch, nonzeros)):
            wanted = f"{(nonzeros,)}, for all heads, or {(*self.batch, nonzeros)}"
            raise InvalidArgument(f"cannot {where}: bias has shape {seen.shape}, and must have {wanted}")
        return seen

    @staticmethod
    def _check(where: str, name: str, seen: View, shape: tuple[int, ...]) -> None:
        if seen.shape != shape:
            raise InvalidArgument(f"cannot {where}: {name} has shape {seen.shape}, and must have {shape}")

    def views(self) -> tuple[View, ...]:
        return self.query.view, self.key.view, self.value.view

    def dropout(self, rate: float, seed: int, offset: int) -> dict[str, Any]:
        """What a plan's call says of it; nothing where the rate is 0."""
        where = self.place.where
        number = real(where, "dropout", rate)
        if not 0.0 <= number < 1.0:
            raise InvalidArgument(f"cannot {where}: dropout is {number}, and must be between 0 and 1, or 0 for none")
        named = {"seed": seed, "offset": offset}
        state = [integer(where, name, value, ctypes.c_uint64) for name, value in named.items()]
        if number == 0.0:
            return {}
        placed = self.place.input(view(where, "dropout_state", np.array(state, np.uint64)))
        return {"dropout": number, "dropout_state": placed.address}

    def problem(
        self, math: str, alignment_bytes: int, *, capped: bool, causal: bool, dropped: bool
    ) -> SparseAttention:
        return SparseAttention(
            n=self.n,
            value_size=self.value_size,
            batch=mathematics.prod(self.batch),
            key_heads=mathematics.prod(self.key_batch) if self.key_batch != self.batch else 0,
            element=self.element,
            query_leading=self.query.leading,
            key_leading=self.key.leading,
            value_leading=self.value.leading,
            query_stride=self.query.stride,
            key_stride=self.key.stride,
            value_stride=self.value.stride,
            alignment_bytes=alignment_bytes,
            math=math,
            capped=capped,
            causal=causal,
            biased=self.bias is not None,
            bias_stride=self.bias.shape[-1] if self.bias is not None and len(self.bias.shape) > 1 else 0,
            dropped=dropped,
        )
