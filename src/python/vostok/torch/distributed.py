"""Sparse layers over several processes: shards of rows and columns, and DTensor's rule for data-parallel tokens.

    split = vtd.balanced_split([ffn.gate, ffn.up], [ffn.down], mesh.size())
    parallelize_module(ffn, mesh, {"gate": vtd.ColwiseSparse(split), "up": vtd.ColwiseSparse(split),
                                   "down": vtd.RowwiseSparse(split)})

The library computes shards and owns no communicator: collectives are torch.distributed's. With DDP, call
ignore_indices(model) first: DDP writes to buffers at every step, and index buffers that were written to are planned
anew.
"""

from __future__ import annotations

from typing import Any, Sequence

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor.parallel import ParallelStyle

from .._errors import InvalidArgument, InvalidType
from . import _state
from ._csr import Csr, make_csr, row_indices
from ._modules import FrozenSparseLinear, SparseLinear

Split = tuple[int, ...]


def balanced_split(
    colwise: Sequence[SparseLinear], rowwise: Sequence[SparseLinear], parts: int, granularity: int = 1
) -> Split:
    """Boundaries (parts + 1, from 0 up) of one dimension that layers share: the rows of the `colwise` ones and the
    columns of the `rowwise` ones. Parts have nearly the same number of nonzeros. They are multiples of `granularity`:
    the size of a head (times the heads of a group), where heads are to stay whole."""
    weights = [_row_counts(layer) for layer in colwise] + [_column_counts(layer) for layer in rowwise]
    if not weights:
        raise InvalidArgument("cannot split: there are no layers")
    size = weights[0].numel()
    if any(weight.numel() != size for weight in weights):
        raise InvalidArgument(f"cannot split: the layers have {[weight.numel() for weight in weights]} rows or columns")
    if parts < 1 or granularity < 1 or size % granularity or size // granularity < parts:
        raise InvalidArgument(f"cannot split {size} into {parts} parts of multiples of {granularity}")
    total = torch.stack([weight.double().cpu() for weight in weights]).sum(0)
    sums = torch.cat([torch.zeros(1, dtype=torch.double), total.reshape(-1, granularity).sum(1).cumsum(0)])
    pieces = size // granularity
    bounds = [0]
    for part in range(1, parts):
        wanted = sums[-1] * part / parts
        nearest = int(torch.argmin((sums - wanted).abs()))
        bounds.append(min(max(nearest, bounds[-1] + 1), pieces - (parts - part)))
    return tuple(bound * granularity for bound in [*bounds, pieces])


def _row_counts(layer: SparseLinear) -> torch.Tensor:
    return layer.row_offsets[1:] - layer.row_offsets[:-1]


def _column_counts(layer: SparseLinear) -> torch.Tensor:
    return torch.bincount(layer.column_indices, minlength=layer.in_features)


def rows_of(a: Csr, first: int, last: int) -> Csr:
    """The rows from `first` up to `last`."""
    start, end = int(a.row_offsets[first]), int(a.row_offsets[last])
    offsets = a.row_offsets[first : last + 1] - start
    columns = a.column_indices[start:end].clone()
    return make_csr(a.values[..., start:end].clone(), offsets, columns, (last - first, a.shape[1]))


def columns_of(a: Csr, first: int, last: int) -> Csr:
    """The columns from `first` up to `last`, which are counted from 0 again."""
    kept = (a.column_indices >= first) & (a.column_indices < last)
    counts = torch.bincount(row_indices(a)[kept], minlength=a.shape[0])
    offsets = torch.zeros_like(a.row_offsets)
    offsets[1:] = counts.cumsum(0)
    return make_csr(a.values[..., kept], offsets, a.column_indices[kept] - first, (a.shape[0], last - first))


class _ToShards(torch.autograd.Function):
    """The same input for every rank; its gradient is the sum of the ranks'."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Any) -> torch.Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        total = gradient.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=ctx.group)
        return total, None


class _SumShards(torch.autograd.Function):
    """The sum of every rank's part; the gradient of each is that of the sum."""

    @staticmethod
    def forward(ctx: Any, part: torch.Tensor, group: Any) -> torch.Tensor:
        total = part.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient, None


class _GatherShards(torch.autograd.Function):
    """Every rank's features side by side, of whatever number."""

    @staticmethod
    def forward(ctx: Any, part: torch.Tensor, group: Any, split: Split) -> torch.Tensor:
        rank = dist.get_rank(group)
        ctx.place = split[rank], split[rank + 1]
        widest = max(last - first for first, last in zip(split, split[1:]))
        padded = part.new_zeros((*part.shape[:-1], widest))
        padded[..., : part.shape[-1]] = part
        parts = [torch.empty_like(padded) for _ in range(len(split) - 1)]
        dist.all_gather(parts, padded, group=group)
        return torch.cat([p[..., : last - first] for p, first, last in zip(parts, split, split[1:])], dim=-1)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        first, last = ctx.place
        return gradient[..., first:last], None, None


class _SparseStyle(ParallelStyle):
    def __init__(self, split: Split | None = None) -> None:
        super().__init__()
        self.split = split

    def _layer(self, module: nn.Module, mesh: Any, size: int) -> tuple[Any, int, int]:
        if not isinstance(module, SparseLinear):
            raise InvalidType(
                f"cannot shard a {type(module).__name__}: {type(self).__name__} is for SparseLinear; freeze afterwards"
            )
        group = mesh.get_group()
        assert self.split is not None
        if len(self.split) != mesh.size() + 1 or self.split[-1] != size:
            raise InvalidArgument(f"cannot shard {size} features over {mesh.size()} ranks by the split {self.split}")
        rank = dist.get_rank(group)
        return group, self.split[rank], self.split[rank + 1]


class ColwiseSparse(_SparseStyle):
    """Rows of W, which are output features, are spread over the ranks (column-parallel, as torch names it). The input
    is the same on every rank. gather: the output is made whole again; else each rank has its own features, as
    RowwiseSparse with the same split takes them. split: boundaries; default: balanced by the layer's own nonzeros."""

    def __init__(self, split: Split | None = None, *, gather: bool = False) -> None:
        super().__init__(split)
        self.gather = gather

    def _apply(self, module: nn.Module, device_mesh: Any) -> nn.Module:
        if self.split is None and isinstance(module, SparseLinear):
            self.split = balanced_split([module], [], device_mesh.size())
        group, first, last = self._layer(module, device_mesh, getattr(module, "out_features", 0))
        layer: Any = module
        with torch.no_grad():
            _become(layer, rows_of(layer.csr(), first, last))
            if layer.bias is not None:
                layer.bias = nn.Parameter(layer.bias[first:last].clone(), requires_grad=layer.bias.requires_grad)
        layer.register_forward_pre_hook(lambda _, inputs: (_ToShards.apply(inputs[0], group), *inputs[1:]))
        if self.gather:
            split = self.split
            layer.register_forward_hook(lambda _, inputs, output: _GatherShards.apply(output, group, split))
        return module


class RowwiseSparse(_SparseStyle):
    """Columns of W, which are input features, are spread over the ranks (row-parallel). Each rank's input has its own
    features; the output is the sum over the ranks, bias added once. split: that of the layers in front."""

    def _apply(self, module: nn.Module, device_mesh: Any) -> nn.Module:
        if self.split is None:
            raise InvalidArgument("cannot shard by RowwiseSparse: give the split that the layers in front have")
        group, first, last = self._layer(module, device_mesh, getattr(module, "in_features", 0))
        layer: Any = module
        if layer.activation != "none":
            raise InvalidArgument(f"cannot shard by RowwiseSparse: {layer.activation} of a sum is no sum of parts")
        with torch.no_grad():
            _become(layer, columns_of(layer.csr(), first, last))
        bias = layer.bias
        layer.bias = None
        layer.register_parameter("sum_bias", bias)
        layer.register_forward_hook(lambda each, inputs, output: _sum(output, group, each.sum_bias))
        return module


def _sum(part: torch.Tensor, group: Any, bias: torch.Tensor | None) -> torch.Tensor:
    total: torch.Tensor = _SumShards.apply(part, group)
    return total if bias is None else total + bias.to(total.dtype)


def _become(layer: SparseLinear, shard: Csr) -> None:
    layer.out_features, layer.in_features = shard.shape
    _state.set_structure(layer, shard.row_offsets, shard.column_indices)
    _state.set_values(layer, shard.values)


def ignore_indices(model: nn.Module) -> list[str]:
    """Tells DistributedDataParallel to leave the index buffers of sparse layers alone, which are equal on all ranks and
    never written; returns their names. Call it before DDP(model)."""
    names = []
    for path, layer in model.named_modules():
        if isinstance(layer, (SparseLinear, FrozenSparseLinear)):
            names += [f"{path}.{name}" if path else name for name, _ in layer.named_buffers(recurse=False)]
    holder: Any = model
    known = list(getattr(holder, "_ddp_params_and_buffers_to_ignore", []))
    holder._ddp_params_and_buffers_to_ignore = [*known, *(name for name in names if name not in known)]
    return names


def register_dtensor_rules() -> None:
    """DTensor's sharding rules of vostok::linear and of what its gradient is made of: tokens (any leading axis) may be
    sharded, weights are replicated. Called when this module is imported."""
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor._dtensor_spec import DTensorSpec
    from torch.distributed.tensor.experimental import register_sharding

    def placed(arguments: Any, chosen: dict[int, Any]) -> list[Any]:
        spec = lambda i: chosen.get(i, Replicate())  # noqa: E731
        return [spec(i) if isinstance(value, DTensorSpec) else None for i, value in enumerate(arguments)]

    def linear_rule(*arguments: Any) -> Any:
        rules: list[Any] = [([Replicate()], placed(arguments, {}))]
        for axis in range(arguments[0].ndim - 1):
            rules.append(([Shard(axis)], placed(arguments, {0: Shard(axis), 7: Shard(axis)})))
        return rules

    def sddmm_rule(*arguments: Any) -> Any:
        inner = arguments[4].ndim - 1
        rules: list[Any] = [([Replicate()], placed(arguments, {}))]
        if len(arguments) < 8 or arguments[7] is None:
            rules.append(([Partial()], placed(arguments, {4: Shard(inner), 5: Shard(inner)})))
        return rules

    register_sharding(torch.ops.vostok.linear.default)(linear_rule)
    register_sharding(torch.ops.vostok.sddmm.default)(sddmm_rule)


if dist.is_available():
    register_dtensor_rules()
