"""Masks of attention: bands, windows with global tokens, BigBird's blocks, lists of keys, FlexAttention's BlockMask."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from .._errors import InvalidArgument
from ._csr import Csr, csr, make_csr, offsets_of, structure_of

MASKS_KEPT = 32
_masks: OrderedDict[Any, Any] = OrderedDict()
Made = TypeVar("Made")


def kept(key: Any, make: Callable[[], Made]) -> Made:
    """What make() returns, made once for each key: a mask that is made anew at every call would be planned anew."""
    found = _masks.get(key)
    if found is None:
        found = _masks[key] = make()
        while len(_masks) > MASKS_KEPT:
            _masks.popitem(last=False)
    return found


def forgetting(key: Any) -> Callable[[Any], None]:
    """What lets a kept mask go, as a callback of weak references. It needs no global names, which are gone at exit."""
    pop = _masks.pop
    return lambda _: pop(key, None)


def _require(condition: bool, what: str, text: str) -> None:
    if not condition:
        raise InvalidArgument(f"cannot make {what}: {text}")


def _of_places(rows: torch.Tensor, columns: torch.Tensor, shape: tuple[int, int], dtype: torch.dtype) -> Csr:
    """Of elements in any order, each counted once."""
    places = torch.unique(rows * shape[1] + columns)  # ascending
    row = torch.div(places, max(shape[1], 1), rounding_mode="floor")
    ones = torch.ones(places.numel(), dtype=dtype, device=places.device)
    return make_csr(ones, offsets_of(row, shape[0]), (places - row * shape[1]).to(torch.int32), shape)


def _runs(rows: torch.Tensor, first: torch.Tensor, last: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and columns of the elements from `first` to `last` of each row; of none where last is less."""
    counts = (last - first + 1).clamp(min=0)
    size = int(counts.sum())
    before = counts.cumsum(0) - counts
    within = torch.arange(size, device=rows.device) - torch.repeat_interleave(before, counts, output_size=size)
    row, start = (torch.repeat_interleave(tensor, counts, output_size=size) for tensor in (rows, first))
    return row, start + within


class RuleMask:
    """A mask that a rule gives for any number of queries and keys: a frozen dataclass."""

    def csr(self, rows: int, cols: int, device: Any = "cpu", dtype: torch.dtype = torch.float32) -> Csr:
        """The mask as a Csr whose values are ones; made once for each shape and device."""
        self._check()
        place = torch.device(device)
        return kept((self, rows, cols, place, dtype), lambda: self._make(rows, cols, place, dtype))

    def _check(self) -> None:
        raise NotImplementedError

    def _make(self, rows: int, cols: int, device: torch.device, dtype: torch.dtype) -> Csr:
        raise NotImplementedError


@dataclass(frozen=True)
class BandedMask(RuleMask):
    """`width` keys around each query, or, causal, up to it. Besides, all queries attend to the first `global_keys`, and
    the first `global_queries` to all keys (Longformer, arXiv 2004.05150); causal, to those that are not behind them."""

    width: int
    causal: bool = True
    global_keys: int = 0
    global_queries: int = 0

    def _check(self) -> None:
        _require(self.width >= 1, "a banded mask", f"width is {self.width}, and must be at least 1")
        for name in ("global_keys", "global_queries"):
            count = getattr(self, name)
            _require(count >= 0, "a banded mask", f"{name} is {count}, and must not be negative")

    def _make(self, rows: int, cols: int, device: torch.device, dtype: torch.dtype) -> Csr:
        query = torch.arange(rows, device=device)
        first = query - (self.width - 1 if self.causal else self.width // 2)
        last = query + (0 if self.causal else self.width - 1 - self.width // 2)
        nothing, furthest = torch.zeros_like(query), query if self.causal else torch.full_like(query, cols - 1)
        parts = [(query, first.clamp(0, cols), last.clamp(-1, cols - 1))]
        if self.global_keys > 0:
            parts.append((query, nothing, furthest.clamp(max=min(self.global_keys, cols) - 1)))
        if self.global_queries > 0:
            all_of = slice(0, self.global_queries)
            parts.append((query[all_of], nothing[all_of], furthest[all_of].clamp(max=cols - 1)))
        places = [_runs(*part) for part in parts]
        row, column = (torch.cat(tensors) for tensors in zip(*places))
        return _of_places(row, column, (rows, cols), dtype)


@dataclass(frozen=True)
class BigBirdMask(RuleMask):
    """Blocks of `block` queries by `block` keys: `window` around the diagonal, the first `global_blocks` rows and
    columns of blocks, and `random_blocks` others of each row, the same ones for a seed (BigBird, arXiv 2007.14062).
    Causal: only keys up to each query, and random blocks among those."""

    block: int = 64
    window: int = 3
    global_blocks: int = 1
    random_blocks: int = 3
    causal: bool = False
    seed: int = 0

    def _check(self) -> None:
        for name, least in (("block", 1), ("window", 0), ("global_blocks", 0), ("random_blocks", 0)):
            count = getattr(self, name)
            _require(count >= least, "BigBird's mask", f"{name} is {count}, and must be at least {least}")

    def _blocks(self, rows: int, cols: int) -> torch.Tensor:
        """Which blocks there are."""
        row = torch.arange(rows)[:, None]
        column = torch.arange(cols)[None, :]
        allowed = (column <= row) if self.causal else torch.ones(rows, cols, dtype=torch.bool)
        distance = column - row
        # Of an even window one block more lies before the diagonal.
        chosen = (distance >= -(self.window // 2)) & (distance < self.window - self.window // 2)
        chosen |= (row < self.global_blocks) | (column < self.global_blocks)
        chosen &= allowed
        order = torch.rand(rows, cols, generator=torch.Generator().manual_seed(self.seed))
        order[chosen | ~allowed] = -1
        count = min(self.random_blocks, cols)
        if count > 0:
            best, places = order.topk(count, dim=1)
            chosen.scatter_(1, places, chosen.gather(1, places) | (best >= 0))
        return chosen

    def _make(self, rows: int, cols: int, device: torch.device, dtype: torch.dtype) -> Csr:
        chosen = self._blocks(-(-rows // self.block), -(-cols // self.block)).to(device)
        row, column = _elements_of_blocks(chosen.nonzero(), (self.block, self.block))
        inside = (row < rows) & (column < cols)
        if self.causal:
            inside &= column <= row
        return _of_places(row[inside], column[inside], (rows, cols), dtype)


def _elements_of_blocks(blocks: torch.Tensor, size: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and columns of every element of blocks [count, 2]."""
    row = blocks[:, 0, None, None] * size[0] + torch.arange(size[0], device=blocks.device)[:, None]
    column = blocks[:, 1, None, None] * size[1] + torch.arange(size[1], device=blocks.device)
    shape = (blocks.shape[0], *size)
    return row.expand(shape).reshape(-1), column.expand(shape).reshape(-1)


def csr_of_lists(columns: torch.Tensor, cols: int, dtype: torch.dtype = torch.float32) -> Csr:
    """A mask of ones from lists of keys, as top-k leaves them: columns [queries, count], in any order, some twice or
    negative for none."""
    _require(
        columns.dim() == 2 and not columns.is_floating_point() and columns.dtype != torch.bool,
        "a mask of lists",
        f"columns are {columns.dtype} of shape {tuple(columns.shape)}, and must be integers [queries, count]",
    )
    largest = int(columns.max()) if columns.numel() > 0 else -1
    _require(largest < cols, "a mask of lists", f"it names column {largest}, and there are {cols}")
    row = torch.arange(columns.shape[0], device=columns.device)[:, None].expand_as(columns)
    named = columns >= 0
    return _of_places(row[named], columns[named].to(torch.int64), (columns.shape[0], cols), dtype)


ELEMENTS_AT_ONCE = 1 << 22  # of partial blocks that a mask function is asked for


def csr_of_block_mask(
    block_mask: Any, *, sequence: int | None = None, head: int | None = None, dtype: torch.dtype = torch.float32
) -> Csr:
    """The elements that FlexAttention's BlockMask lets through, as a mask of ones [queries, keys]: whole blocks, and of
    partial ones what its mask function says. `sequence` and `head`: which of its batch and heads, if it has several."""
    found = [_only(block_mask, axis, chosen) for axis, chosen in enumerate((sequence, head))]
    queries, keys = block_mask.seq_lengths
    size = block_mask.BLOCK_SIZE
    device = block_mask.kv_indices.device

    def blocks(counts: torch.Tensor | None, indices: torch.Tensor | None) -> torch.Tensor:
        if counts is None or indices is None:
            return torch.empty(0, 2, dtype=torch.int64, device=device)
        counts, indices = counts[found[0], found[1]], indices[found[0], found[1]]
        there = torch.arange(indices.shape[1], device=device) < counts[:, None]
        return torch.stack((there.nonzero()[:, 0], indices[there].to(torch.int64)), dim=1)

    def elements(of: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        row, column = _elements_of_blocks(of, size)
        inside = (row < queries) & (column < keys)
        return row[inside], column[inside]

    places = [elements(blocks(block_mask.full_kv_num_blocks, block_mask.full_kv_indices))]
    numbers = [torch.tensor(number, device=device) for number in (sequence or 0, head or 0)]
    allows = torch.vmap(block_mask.mask_mod, in_dims=(None, None, 0, 0))
    partial = blocks(block_mask.kv_num_blocks, block_mask.kv_indices)
    for some in partial.split(max(1, ELEMENTS_AT_ONCE // (size[0] * size[1]))):
        row, column = elements(some)
        if row.numel() > 0:
            attended = allows(*numbers, row, column)
            places.append((row[attended], column[attended]))
    row, column = (torch.cat(tensors) for tensors in zip(*places))
    return _of_places(row, column, (int(queries), int(keys)), dtype)


def _only(block_mask: Any, axis: int, chosen: int | None) -> int:
    """The chosen sequence or head among those of a BlockMask, of which one may stand for all."""
    name = ("sequence", "head")[axis]
    count = int(block_mask.kv_num_blocks.shape[axis])
    if count == 1:
        return 0
    _require(chosen is not None, "a mask of a BlockMask", f"it has {count}, one for each {name}: name the {name}")
    number = int(chosen or 0)
    _require(0 <= number < count, "a mask of a BlockMask", f"{name} is {number}, and there are {count}")
    return number


def is_block_mask(mask: Any) -> bool:
    """Whether it is FlexAttention's; the module is not imported for it."""
    flex = sys.modules.get("torch.nn.attention.flex_attention")
    return flex is not None and isinstance(mask, flex.BlockMask)


def mask_csr(mask: Any, q: torch.Tensor, k: torch.Tensor) -> Csr:
    """What attention() takes as a mask [queries, keys]. Of a dense one or a BlockMask it is made once."""
    if is_block_mask(mask):
        return kept((id(mask), "block mask"), lambda: (csr_of_block_mask(mask), mask))[0]
    if not isinstance(mask, torch.Tensor) or mask.layout != torch.strided:
        return made_csr(mask, (q.shape[-2], k.shape[-2]), q.device)
    return _of_kept_dense(mask)


def made_csr(mask: Any, shape: tuple[int, int] | None, device: torch.device) -> Csr:
    """The same, made anew of all but rules, which need the shape and the device."""
    if isinstance(mask, RuleMask):
        assert shape is not None
        return mask.csr(*shape, device)
    if is_block_mask(mask):
        return csr_of_block_mask(mask)
    if not isinstance(mask, torch.Tensor) or mask.layout != torch.strided:
        return csr(mask)
    _require(mask.dim() == 2, "a mask", f"it has shape {tuple(mask.shape)}, and must have two axes")
    offsets, columns = structure_of(mask != 0)
    return make_csr(columns.new_empty(0, dtype=torch.float32), offsets, columns, mask.shape)


def _of_kept_dense(mask: torch.Tensor) -> Csr:
    if torch.compiler.is_compiling():
        raise RuntimeError(
            "cannot compile vostok::attention with a dense mask: make a Csr of it first, by vostok.torch.csr"
        )
    storage = mask.untyped_storage()
    version = None if mask.is_inference() else mask._version
    key = (storage._cdata, mask.data_ptr(), mask.shape, mask.stride(), version)
    return kept(key, lambda: (made_csr(mask, None, mask.device), (mask, storage)))[0]
