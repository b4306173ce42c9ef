"""prepare: plans and compiles ahead of the first call; explain; doctor."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence

import torch
from torch import nn

from .. import _c
from .._errors import InvalidType
from .._planning import ProgressLine
from .._problems import Sddmm
from ._csr import Csr
from ._devices import ELEMENTS, _contexts, stream_of
from ._entries import Entry, Prepared
from ._joined import JoinedMask
from ._linear import bucket_of, plan_linear
from ._lookup import LOOKUP, made_plan
from ._modules import FrozenSparseLinear, SparseLinear
from ._packed import adopted, packed_dtype, packed_plan
from ._report import PlanRow, Report


@dataclass
class Work:
    """One plan to be made: plan() makes it, and returns it."""

    name: str
    operation: str
    tokens: int
    plan: Callable[..., Prepared]
    entry: Callable[[], Entry]


def entry_of(layer: SparseLinear) -> Entry:
    """The look-up's entry of a layer's structure."""
    offsets, columns = layer.row_offsets, layer.column_indices
    stream = stream_of(offsets.get_device())
    return LOOKUP.entry("linear", offsets, columns, layer.out_features, layer.in_features, stream)


def sddmm_problem(dtype: torch.dtype, tokens: int, math: str, alignment: int = 16) -> Sddmm:
    """The problem of the gradient by a linear layer's values, as vostok::sddmm states it."""
    return Sddmm(
        n=tokens,
        element=ELEMENTS[dtype],
        lhs_layout="column_major",
        rhs_layout="column_major",
        alignment_bytes=alignment,
        math=math,
    )


def bias_dtype(layer: SparseLinear | FrozenSparseLinear) -> torch.dtype | None:
    """The type in which kernels read the layer's bias."""
    return None if layer.bias is None else layer.bias.dtype


def work_of(model: nn.Module, tokens: Sequence[int], training: bool | None, dtype: torch.dtype | None) -> list[Work]:
    """Every plan that forward, and in training backward, of the model's sparse layers needs."""
    found: list[Work] = []
    for name, layer in model.named_modules():
        if isinstance(layer, SparseLinear):
            trains = layer.training and layer.values.requires_grad if training is None else training
            found += _work_of_sparse(name, layer, tokens, trains, dtype or layer.values.dtype)
        elif isinstance(layer, FrozenSparseLinear):
            found += _work_of_frozen(name, layer)
    return found


def _work_of_sparse(name: str, layer: SparseLinear, tokens: Any, trains: bool, dtype: torch.dtype) -> Iterator[Work]:
    def forward(count: int, activation: str, transpose: bool) -> Callable[..., Prepared]:
        bias = None if transpose else bias_dtype(layer)
        return lambda **options: plan_linear(
            entry_of(layer), dtype, count, bias, False, transpose, activation, layer.math, **options
        )

    def sampled(count: int) -> Callable[..., Prepared]:
        problem = sddmm_problem(dtype, count, layer.math)

        def plan(**options: Any) -> Prepared:
            entry = entry_of(layer)
            make = lambda context: made_plan(context, problem, entry.topology, **options)  # noqa: E731
            return LOOKUP.plan("sddmm", entry, problem, make)

        return plan

    for count in sorted({bucket_of(max(int(count), 1)) for count in tokens}):
        yield Work(name, "linear", count, forward(count, layer.activation, False), lambda: entry_of(layer))
        if trains:
            if layer.activation != "none":
                yield Work(name, "linear", count, forward(count, "none", False), lambda: entry_of(layer))
            yield Work(name, "linear transposed", count, forward(count, "none", True), lambda: entry_of(layer))
    if trains:
        for count in sorted({max(int(count), 1) for count in tokens}):
            yield Work(name, "sddmm", count, sampled(count), lambda: entry_of(layer))


def _work_of_frozen(name: str, layer: FrozenSparseLinear) -> Iterator[Work]:
    def work(operation: str, packed: torch.Tensor, head: torch.Tensor) -> Work:
        def plan(**options: Any) -> Prepared:
            return packed_plan(entry(), packed_dtype(head), bias_dtype(layer), False, layer.activation, **options)

        def entry() -> Entry:
            return _packed_entry(packed, head)

        return Work(name, operation, 0, plan, entry)

    for operation, pair in zip(("linear_packed", "linear_packed few"), layer.formats):
        yield work(operation, *pair)


def _packed_entry(packed: torch.Tensor, head: torch.Tensor) -> Entry:
    return adopted(packed, head, stream_of(packed.get_device()))


def prepare(
    model: nn.Module,
    tokens: Sequence[int] = (1, 8, 64, 512),
    effort: str = "cached",
    *,
    training: bool | None = None,
    dtype: torch.dtype | None = None,
    progress: bool = True,
    seconds: float = 30.0,
) -> Report:
    """Plans and compiles what the model's sparse layers need for these numbers of tokens (each serves up to the next
    power of two), so that no later call does: before CUDA graphs and before serving.

    effort: cached, or quick and full, which measure (`seconds` a plan). training: gradients too; default: where a layer
    is in training mode. dtype: the element type that calls will have, where autocast changes it. Returns a row for each
    plan; what could not be planned has an error, and is tried again when it is needed.
    """
    if not isinstance(model, nn.Module):
        raise InvalidType(f"cannot prepare: model is {type(model).__name__}, and must be a torch.nn.Module")
    work = work_of(model, tokens, training, dtype)
    bar = ProgressLine(len(work)) if progress and len(work) > 1 else None
    report = Report()
    options = {} if effort == "cached" else {"effort": effort, "budget_seconds": seconds}
    for part in work:
        report.rows.append(make_plan(part, options))
        if bar is not None:
            bar.finish(f"{part.name} {part.operation} {part.tokens}")
    return report


def make_plan(part: Work, options: dict[str, Any]) -> PlanRow:
    """Makes one plan, and tells of it."""
    row = PlanRow(part.name, part.operation, part.tokens)
    start = time.perf_counter()
    try:
        if options:  # measured anew: the plan that is there was made with less effort
            before = dict(part.entry().plans)
            part.entry().plans.clear()
            prepared = part.plan(**options)
            part.entry().plans.update({key: plan for key, plan in before.items() if key not in part.entry().plans})
        else:
            prepared = part.plan()
        row.family, row.provenance = prepared.plan.family, prepared.plan.provenance
    except RuntimeError as error:
        row.error = str(error)
    row.seconds = time.perf_counter() - start
    return row


def explain(layer: nn.Module | Csr | JoinedMask, detail: str = "choice") -> str:
    """Which choices the plans made so far have, and where from: of a sparse layer, or of all calls with the structure
    of a Csr or of joined masks, as a mask of attention. detail: "trials" has every candidate."""
    title = f"{type(layer).__name__}({layer.extra_repr()})" if isinstance(layer, nn.Module) else ""
    layer = layer.matrix if isinstance(layer, JoinedMask) else layer
    if isinstance(layer, Csr):
        offsets, columns = layer.row_offsets, layer.column_indices
        entries = [LOOKUP.entry("explain", offsets, columns, *layer.shape, stream_of(offsets.get_device()))]
        title = f"Csr(shape={layer.shape}, nonzeros={columns.shape[0]})"
    elif isinstance(layer, SparseLinear):
        entries = [entry_of(layer)]
    elif isinstance(layer, FrozenSparseLinear):
        entries = [_packed_entry(*pair) for pair in layer.formats]
    else:
        raise InvalidType(
            f"cannot explain: layer is {type(layer).__name__}, and must be a SparseLinear, a frozen one or a Csr"
        )
    lines = [title]
    for entry in entries:
        if entry.packed is not None:
            header, values = entry.packed
            lines.append(f"packed with max_tokens={header.max_tokens}: {values.format}")
        if not entry.plans:
            lines.append("no plans yet: call it, or vostok.torch.prepare")
        for key, prepared in entry.plans.items():
            lines.append(f"- {_label(key)}")
            lines += ["  " + line for line in prepared.plan.explain(detail).splitlines()]
    return "\n".join(lines)


def _label(key: Any) -> str:
    if isinstance(key, tuple):
        return " ".join(str(part) for part in key)
    return str(key)


def doctor() -> str:
    """What a bug report needs: versions, the library, devices, what is planned so far."""
    lines = [
        f"vostok {_c.version()} ({_c.LIBRARY_PATH})",
        f"torch {torch.__version__}, CUDA {torch.version.cuda}",
        f"Python {platform.python_version()}, {platform.platform()}",
        f"GPUs that torch sees: {torch.cuda.device_count() if torch.cuda.is_available() else 0}",
    ]
    for index, context in sorted(_contexts.items()):
        where = "cpu" if index < 0 else f"cuda:{index}"
        info = context.device
        entries = [entry for entry in LOOKUP.entries.values() if entry.index == index]
        held = sum(entry.held_bytes for entry in entries)
        plans = sum(len(entry.plans) for entry in entries)
        lines.append(f"{where}: {info.name} ({info.architecture}), driver {info.driver or 'none'}")
        lines.append(f"  {len(entries)} topologies, {plans} plans, {held} bytes of at most {LOOKUP.limit(index)}")
        lines.append(f"  {context.counters()}")
    if not _contexts:
        lines.append("no operation was run yet")
    return "\n".join(lines)
