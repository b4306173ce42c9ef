"""vostok::pack and vostok::linear_packed: weights in a packed format, as two tensors of bytes (see _stored.py)."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from .._errors import InvalidArgument
from .._problems import Spmm
from ._calls import run_spmm
from ._checks import check_linear_packed, check_structure, check_values, check_word, require
from ._devices import ELEMENTS, alignment_of, context_of, stream_of, with_memory
from ._entries import Entry, Prepared
from ._linear import activate, bias_fields, bucket_of, policy_of
from ._lookup import LOOKUP, made_plan, make_topology, refuse_capture
from ._registry import below_autograd, casting, is_plain, refuse_transforms, register, transforms_active, wants_gradient
from ._stored import Header, header_of, leave_what_executing_reads, loaded, stored

MaybeTensor = torch.Tensor | None

PACK_SCHEMA = (
    "(Tensor values, Tensor row_offsets, Tensor column_indices, SymInt rows, SymInt cols, int max_tokens, "
    "str math='accurate', str policy='') -> (Tensor, Tensor)"
)
SCHEMA = (
    "(Tensor x, Tensor packed, Tensor head, SymInt rows, SymInt cols, Tensor? bias=None, Tensor? residual=None, "
    "str activation='none', Tensor? packed_few=None, Tensor? head_few=None) -> Tensor"
)


def _problem(
    header: Header,
    bias: torch.dtype | None = None,
    residual: bool = False,
    activation: str = "none",
    alignment: int = 16,
) -> Spmm:
    largest = bucket_of(header.max_tokens)
    return Spmm(
        n_values=tuple(1 << power for power in range(largest.bit_length())),
        element=header.element,
        dense_layout="column_major",
        output_layout="column_major",
        alignment_bytes=alignment,
        math=header.math,
        value_lifetime="persistent",
        residual=residual,
        activation=activation,
        **bias_fields(bias),
    )


def _plan(context: Any, topology: Any, problem: Spmm, dtype: torch.dtype, header: Header, **options: Any) -> Prepared:
    policy = policy_of(context, topology, dtype.itemsize, header.policy)
    return made_plan(context, problem, topology, policy=policy, **options)


def pack(
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    max_tokens: int,
    math: str = "accurate",
    policy: str = "",
) -> tuple[torch.Tensor, torch.Tensor]:
    """The kernel: packed, uint8 [bytes] on the values' device, and head, uint8 [bytes] on the CPU. Waits for the
    device. policy: "warm", "cold", or "" for one by the size of this matrix; it stays with the bytes."""
    _check_pack(values, row_offsets, column_indices, rows, max_tokens, policy)
    index = values.get_device()
    refuse_capture("pack", index)
    values = values.contiguous()
    context = context_of(index)
    header = Header(rows, cols, max_tokens, ELEMENTS[values.dtype], math, policy)

    def make() -> tuple[torch.Tensor, torch.Tensor, Any]:
        topology = make_topology(index, row_offsets, column_indices, rows, cols)
        plan = _plan(context, topology, _problem(header), values.dtype, header)
        return stored(plan.plan, values, header)

    packed, head, made = with_memory(index, make)
    leave_what_executing_reads(made)
    LOOKUP.add_packed(packed, (made.topology, header, made), stream_of(index))
    return packed, head


def _check_pack(
    values: torch.Tensor, offsets: torch.Tensor, columns: torch.Tensor, rows: Any, max_tokens: int, policy: str
) -> None:
    check_structure("pack", offsets, columns, rows, "values", values)
    check_values("pack", "values", values, columns, False)
    require(max_tokens >= 1, InvalidArgument, "pack", lambda: f"max_tokens is {max_tokens}, and must be at least 1")
    if policy:
        check_word("pack", "policy", policy, "policy")


def adopted(packed: torch.Tensor, head: torch.Tensor, stream: int) -> Entry:
    """The look-up's entry of packed bytes."""
    return LOOKUP.packed_entry("linear_packed", packed, lambda: loaded(packed, head), stream)


def entry_for(
    tokens: int,
    packed: torch.Tensor,
    head: torch.Tensor,
    packed_few: torch.Tensor,
    head_few: torch.Tensor,
    stream: int,
) -> Entry:
    """The entry of the format that so many tokens use, of the two that weights are packed in."""
    few = adopted(packed_few, head_few, stream)
    if few.beside is None or few.beside() is not head:
        _check_few(header_of(head), few.packed[0])
        few.beside = weakref.ref(head)  # reading a header at every call costs more than finding an entry
    return few if tokens <= few.packed[0].max_tokens else adopted(packed, head, stream)


def _check_few(header: Header, few: Header) -> None:
    what, wanted = (((each.rows, each.cols), each.element, each.math) for each in (few, header))
    require(what == wanted, InvalidArgument, "linear_packed", lambda: f"head_few is of {what}, and head is of {wanted}")
    require(
        few.max_tokens < header.max_tokens,
        InvalidArgument,
        "linear_packed",
        lambda: f"head_few is for {few.max_tokens} tokens, and must be for fewer than head, {header.max_tokens}",
    )


def packed_dtype(head: torch.Tensor) -> torch.dtype:
    """The element type that packed bytes were made of."""
    element = header_of(head).element
    return next(dtype for dtype, name in ELEMENTS.items() if name == element)


def packed_plan(
    entry: Entry,
    dtype: torch.dtype,
    bias: torch.dtype | None,
    residual: bool,
    activation: str,
    alignment: int = 16,
    **options: Any,
) -> Prepared:
    """The plan of a call with packed weights, which reads their format."""
    key = (bias, residual, activation, alignment)
    prepared = entry.plans.get(key)
    if prepared is not None:
        return prepared
    header, values = entry.packed
    problem = _problem(header, *key)

    def make(context: Any) -> Prepared:
        return _plan(context, entry.topology, problem, dtype, header, packed_format=values.format, **options)

    return LOOKUP.plan("linear_packed", entry, key, make)


def check_entry(entry: Entry, x: torch.Tensor, rows: int, cols: int) -> None:
    """What bytes alone do not tell of a call."""
    header = entry.packed[0]
    require(
        ELEMENTS[x.dtype] == header.element,
        TypeError,
        "linear_packed",
        lambda: f"x has dtype {x.dtype}, and packed holds {header.element}",
    )
    require(
        (header.rows, header.cols) == (rows, cols),
        InvalidArgument,
        "linear_packed",
        lambda: f"packed is of {(header.rows, header.cols)}, and rows, cols are {(rows, cols)}",
    )


def linear_packed(
    x: torch.Tensor,
    packed: torch.Tensor,
    head: torch.Tensor,
    rows: int,
    cols: int,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    activation: str = "none",
    packed_few: MaybeTensor = None,
    head_few: MaybeTensor = None,
) -> torch.Tensor:
    """The kernel: as linear. More tokens than were packed for go in parts. packed_few, head_few: the same weights in a
    second format, which calls of at most as many tokens use as it was packed for."""
    shape = check_linear_packed(x, packed, head, rows, cols, bias, residual, activation, packed_few, head_few)
    output = x.new_empty(shape)
    if not output.numel():
        return output
    x = x.contiguous()
    bias = None if bias is None else bias.contiguous()
    residual = None if residual is None else residual.contiguous()
    operands = [0 if tensor is None else tensor.data_ptr() for tensor in (x, output, bias, residual)]
    x_address, output_address, bias_address, residual_address = operands
    alignment = alignment_of(x_address | output_address | bias_address | residual_address)
    stream = stream_of(x.get_device())
    tokens = output.numel() // rows
    if packed_few is None or head_few is None:
        entry = adopted(packed, head, stream)
    else:
        entry = entry_for(tokens, packed, head, packed_few, head_few, stream)
    check_entry(entry, x, rows, cols)
    header, values = entry.packed
    step = bucket_of(header.max_tokens)
    size = x.element_size()
    if tokens > step:
        alignment = min(alignment, alignment_of(step * cols * size | step * rows * size))
    bias_dtype = None if bias is None else bias.dtype
    prepared = packed_plan(entry, x.dtype, bias_dtype, residual is not None, activation, alignment)
    for first in range(0, tokens, step):
        run_spmm(
            prepared,
            stream,
            x,
            1.0,
            0,
            values.handle,
            x_address + first * cols * size,
            output_address + first * rows * size,
            bias_address,
            residual_address + first * rows * size if residual_address else 0,
            min(step, tokens - first),
        )
    return output


def _fake_pack(
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: Any,
    cols: Any,
    max_tokens: int,
    math: str = "accurate",
    policy: str = "",
) -> tuple[torch.Tensor, torch.Tensor]:
    _check_pack(values, row_offsets, column_indices, rows, max_tokens, policy)
    context = torch.library.get_ctx()
    packed = values.new_empty((context.new_dynamic_size(),), dtype=torch.uint8)
    return packed, torch.empty((context.new_dynamic_size(),), dtype=torch.uint8, device="cpu")


def _fake(
    x: torch.Tensor,
    packed: torch.Tensor,
    head: torch.Tensor,
    rows: Any,
    cols: Any,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    activation: str = "none",
    packed_few: MaybeTensor = None,
    head_few: MaybeTensor = None,
) -> torch.Tensor:
    return x.new_empty(
        check_linear_packed(x, packed, head, rows, cols, bias, residual, activation, packed_few, head_few)
    )


def _differentiable_pack(
    values: torch.Tensor,
    row_offsets: torch.Tensor,
    column_indices: torch.Tensor,
    rows: int,
    cols: int,
    max_tokens: int,
    math: str = "accurate",
    policy: str = "",
) -> Any:
    if transforms_active():
        refuse_transforms("pack", (values,))
    arguments = (values, row_offsets, column_indices, rows, cols, max_tokens, math, policy)
    if is_plain(values, row_offsets, column_indices):
        return pack(*arguments)
    return below_autograd(PACK, arguments)


class PackedFunction(torch.autograd.Function):
    """Packed weights are for inference: the gradient by bias and residual is there, that by x is not."""

    @staticmethod
    def forward(ctx: Any, plain: bool, *arguments: Any) -> torch.Tensor:
        if ctx.needs_input_grad[1]:
            raise RuntimeError(
                "cannot differentiate vostok::linear_packed by x: packed weights are for inference; use "
                "torch.no_grad(), or SparseLinear, whose weights are not packed"
            )
        bias = arguments[5]
        ctx.bias_dtype = None if bias is None else bias.dtype
        return linear_packed(*arguments) if plain else below_autograd(LINEAR_PACKED, arguments)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        dbias = None
        if ctx.bias_dtype is not None and ctx.needs_input_grad[6]:
            dbias = gradient.sum(tuple(range(gradient.dim() - 1)), dtype=ctx.bias_dtype)
        dresidual = gradient if ctx.needs_input_grad[7] else None
        return None, None, None, None, None, None, dbias, dresidual, None, None, None


_packed_function: Any = PackedFunction.apply


def _differentiable(
    x: torch.Tensor,
    packed: torch.Tensor,
    head: torch.Tensor,
    rows: int,
    cols: int,
    bias: MaybeTensor = None,
    residual: MaybeTensor = None,
    activation: str = "none",
    packed_few: MaybeTensor = None,
    head_few: MaybeTensor = None,
) -> torch.Tensor:
    if transforms_active():
        refuse_transforms("linear_packed", (x, bias, residual))
    plain = is_plain(x, packed)
    if wants_gradient(x, bias, residual):
        pre = _packed_function(plain, x, packed, head, rows, cols, bias, residual, "none", packed_few, head_few)
        return activate(pre, activation)
    arguments = (x, packed, head, rows, cols, bias, residual, activation, packed_few, head_few)
    return linear_packed(*arguments) if plain else below_autograd(LINEAR_PACKED, arguments)


PACK = register("pack", PACK_SCHEMA, pack, _fake_pack, _differentiable_pack)
LINEAR_PACKED = register("linear_packed", SCHEMA, linear_packed, _fake, _differentiable, casting(0, 6))
