"""Masks of several sequences or heads as one block-diagonal mask, and tensors seen as its rows."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any, TypeGuard

import torch

from .._errors import InvalidArgument, InvalidType
from ._checks import check_structure
from ._csr import Csr, make_csr
from ._entries import version_of
from ._masks import RuleMask, forgetting, is_block_mask, kept, made_csr

Shape = tuple[int, int]
INDEX_LIMIT = 2**31  # of int32


def _refuse_join(text: str, kind: type[Exception] = InvalidArgument) -> None:
    raise kind(f"cannot join masks: {text}")


def _require(condition: bool, text: str, kind: type[Exception] = InvalidArgument) -> None:
    if not condition:
        _refuse_join(text, kind)


@dataclass(frozen=True, eq=False)
class JoinedMask:
    """A block-diagonal mask. `matrix` is the whole of it, `blocks` has the (queries, keys) of each mask in order, and
    `counts` is (sequences,), or (sequences, heads) of nested masks."""

    matrix: Csr
    blocks: tuple[Shape, ...]
    counts: tuple[int, ...]

    @property
    def shape(self) -> Shape:
        """All queries and all keys."""
        return self.matrix.shape

    @property
    def is_causal_by_block(self) -> bool:
        """Whether the diagonal that ends at the last query and key ends at those of every block, too. A block that is
        not square shifts it for the blocks before, so that only the first block may be such a one."""
        return all(queries == keys for queries, keys in self.blocks[1:])


def is_several(mask: Any) -> TypeGuard[Sequence[Any]]:
    """Whether it is a list or tuple of masks. A Csr is a tuple, too."""
    return isinstance(mask, (list, tuple)) and not isinstance(mask, Csr)


def join_masks(masks: Sequence[Any], shapes: Any = None, *, device: torch.device | str | None = None) -> JoinedMask:
    """The block-diagonal mask of several, one for each sequence; lists in the list have one for each head of it.

    Masks may have any shapes: attention() takes the joined one with the tokens of all sequences behind one another, q
    [heads, all queries, size], k and v [heads, all keys, size]. Where all masks have one shape, it also takes q
    [sequences, heads, queries, size], k and v [sequences, heads, keys, size].

    Masks are of any kind that attention() takes. `shapes` are the (queries, keys) of each in order, or of all. They are
    needed for a BandedMask or BigBirdMask, which is made on `device`; default: that of the other masks, or the CPU.

    The same mask objects give the same joined mask, so that it is planned once. The last 32 are kept, until one of
    their masks is gone or written to; hold the result where there are more. Errors: InvalidArgument for shapes, counts,
    wrong indices, and 2^31 nonzeros, queries or keys; InvalidType for devices."""
    if torch.compiler.is_compiling():
        raise RuntimeError("cannot compile vostok.torch.join_masks: join the masks before, and use the joined mask")
    flat, counts = _flattened(masks)
    _check_kinds(flat)
    place = _device_of(flat) if device is None else torch.device(device)
    wanted = _shapes_of(flat, shapes)
    identities = tuple(_identity(mask, shape, place) for mask, shape in zip(flat, wanted))
    key = ("joined", counts, identities)

    def make() -> tuple[JoinedMask, list[Any]]:
        made: dict[Any, Csr] = {}  # one that comes several times is made once
        for identity, mask, shape in zip(identities, flat, wanted):
            if identity not in made:
                made[identity] = made_csr(mask, shape, place)
        matrices = [made[identity] for identity in identities]
        _check(matrices, wanted)
        watches = [weakref.ref(owner, forgetting(key)) for mask in flat for owner in _owners(mask)]
        return JoinedMask(_joined(matrices), tuple(matrix.shape for matrix in matrices), counts), watches

    # Behind a graph break it would be traced, and what it makes could not be marked as static.
    return kept(key, lambda: torch._dynamo.disable(make)())[0]


def _flattened(masks: Any) -> tuple[list[Any], tuple[int, ...]]:
    """The masks in order, and (sequences,) or (sequences, heads)."""
    _require(is_several(masks), f"they are {type(masks).__name__}, and must be a list", InvalidType)
    _require(len(masks) > 0, "there are none")
    nested = [is_several(mask) for mask in masks]
    if not any(nested):
        return list(masks), (len(masks),)
    _require(all(nested), "some are lists, for each head, and some are not")
    heads = [len(some) for some in masks]
    fits = len(set(heads)) == 1 and heads[0] > 0
    _require(fits, f"the sequences have {heads} masks, and must have one for each head")
    flat = [mask for some in masks for mask in some]
    _require(not any(map(is_several, flat)), "they are nested deeper than sequences and heads")
    return flat, (len(masks), heads[0])


def _check_kinds(masks: list[Any]) -> None:
    for number, mask in enumerate(masks):
        if not isinstance(mask, (Csr, RuleMask, torch.Tensor)) and not is_block_mask(mask):
            kind = type(mask).__name__
            _refuse_join(f"mask {number} is {kind}, and must be a Csr, a rule, a tensor or a BlockMask", InvalidType)


def _owners(mask: Any) -> tuple[Any, ...]:
    """The objects that a mask is known by, and does not outlive."""
    if isinstance(mask, RuleMask):
        return ()
    return (mask.row_offsets, mask.column_indices) if isinstance(mask, Csr) else (mask,)


def _identity(mask: Any, shape: Shape | None, device: torch.device) -> Any:
    """What makes a mask the same one again: its objects, where they lie, and how often they were written."""
    if isinstance(mask, RuleMask):
        return mask, shape, device
    parts = [(id(owner), *_state(owner)) for owner in _owners(mask)]
    return *parts, mask.shape if isinstance(mask, Csr) else None


def _state(owner: Any) -> tuple[Any, ...]:
    if not isinstance(owner, torch.Tensor):
        return ()
    return owner.data_ptr() if owner.layout == torch.strided else 0, version_of(owner)


def _device_of(masks: list[Any]) -> torch.device:
    """The device of the first mask that has one."""
    for mask in masks:
        for owner in _owners(mask):
            return (owner if isinstance(owner, torch.Tensor) else owner.kv_indices).device
    return torch.device("cpu")


def _shapes_of(masks: list[Any], shapes: Any) -> list[Shape | None]:
    """The shape that is asked of each mask; None: it has its own."""
    if shapes is None:
        for number, mask in enumerate(masks):
            if isinstance(mask, RuleMask):
                _refuse_join(f"mask {number} is {mask}: name the shapes")
        return [None] * len(masks)
    if len(shapes) == 2 and all(isinstance(size, int) for size in shapes):
        return [tuple(shapes)] * len(masks)
    _require(len(shapes) == len(masks), f"there are {len(masks)} masks and {len(shapes)} shapes")
    return [(int(queries), int(keys)) for queries, keys in shapes]


def _check(matrices: list[Csr], wanted: list[Shape | None]) -> None:
    """Compares shapes, devices and sizes, and looks that no mask reaches into another's block."""
    for number, (a, shape) in enumerate(zip(matrices, wanted)):
        fits = shape in (None, a.shape)
        _require(fits, f"mask {number} has shape {a.shape}, and must have {shape}, queries and keys")
        op = f"join_masks: mask {number}"
        check_structure(op, a.row_offsets, a.column_indices, a.shape[0], "mask 0", matrices[0].column_indices)
    for name, total in (
        ("queries", sum(a.shape[0] for a in matrices)),
        ("keys", sum(a.shape[1] for a in matrices)),
        ("nonzeros", sum(a.column_indices.shape[0] for a in matrices)),
    ):
        _require(total < INDEX_LIMIT, f"they have {total} {name}, and may have {INDEX_LIMIT - 1}")


def _joined(matrices: list[Csr]) -> Csr:
    """The block-diagonal matrix; its values are ones, which take no memory of their own."""
    device = matrices[0].column_indices.device
    rows, cols = ([a.shape[axis] for a in matrices] for axis in (0, 1))
    counts = [a.column_indices.shape[0] for a in matrices]
    columns = torch.cat([a.column_indices for a in matrices])
    _check_indices(matrices, columns, _spread(cols, counts, device))
    columns = columns.to(torch.int32).add_(_spread(_before(cols), counts, device))
    ends = torch.cat([a.row_offsets[1:] for a in matrices]).to(torch.int32).add_(_spread(_before(counts), rows, device))
    offsets = torch.cat((ends.new_zeros(1), ends))
    return make_csr(torch.ones(1, device=device).expand(sum(counts)), offsets, columns, (sum(rows), sum(cols)))


def _before(sizes: list[int]) -> list[int]:
    """What lies before each."""
    return [0, *accumulate(sizes)][:-1]


def _spread(numbers: list[int], counts: list[int], device: torch.device) -> torch.Tensor:
    """Each number as many times as its count says, int32."""
    values, repeats = (torch.tensor(some, dtype=torch.int32, device=device) for some in (numbers, counts))
    return torch.repeat_interleave(values, repeats, output_size=sum(counts))


def _check_indices(matrices: list[Csr], columns: torch.Tensor, limits: torch.Tensor) -> None:
    """Refuses masks whose indices are wrong: joined, they could name keys of another sequence, which no later check
    finds. It reads one number from the device where they are right."""
    ends = torch.cat([end for a in matrices for end in (a.row_offsets[:1], a.row_offsets[-1:])])
    wanted = [end for a in matrices for end in (0, a.column_indices.shape[0])]
    inside = ((columns >= 0) & (columns < limits)).all()
    if bool(inside & (ends == torch.tensor(wanted, device=ends.device)).all()):
        return
    for number, a in enumerate(matrices):
        first, last, count = int(a.row_offsets[0]), int(a.row_offsets[-1]), a.column_indices.shape[0]
        _require(
            (first, last) == (0, count),
            f"the row offsets of mask {number} begin with {first} and end with {last}, and it has {count} columns",
        )
        low, high = (int(bound) for bound in a.column_indices.aminmax()) if count else (0, -1)
        _require(low >= 0 and high < a.shape[1], f"mask {number} names columns {low} to {high} of {a.shape[1]}")


def joined_axes(joined: JoinedMask, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[int, ...]:
    """The leading axes of q, k and v that the masks are for, one or two. Raises where they do not fit."""
    axes, counts = len(joined.counts), joined.counts
    for name, tensor, why in (("q", q, ""), ("k", k, ", as q has"), ("v", v, ", as q has")):
        if tensor.dim() < axes + 2 or tuple(tensor.shape[:axes]) != counts:
            _refuse(
                f"{name} has shape {tuple(tensor.shape)}, and must have leading axes {counts}, a mask for each{why}; "
                f"or all {joined.shape[0]} queries and {joined.shape[1]} keys behind one another"
            )
    wanted = (q.shape[-2], k.shape[-2])
    for number, shape in enumerate(joined.blocks):
        if shape != wanted:
            _refuse(f"mask {number} has shape {shape}, and q and k have {wanted[0]} queries and {wanted[1]} keys")
    return counts


def check_causal(joined: JoinedMask) -> None:
    """Refuses the causal flag where one diagonal does not serve all blocks."""
    if joined.is_causal_by_block:
        return
    number = next(at for at, (queries, keys) in enumerate(joined.blocks) if at > 0 and queries != keys)
    _refuse(
        f"is_causal with joined masks, of which mask {number} has shape {joined.blocks[number]}: all but the first "
        "must be square. Make each mask causal before, and leave is_causal out"
    )


def _refuse(text: str) -> None:
    raise InvalidArgument(f"cannot run vostok::attention: {text}")


def behind(tensor: torch.Tensor, axes: int) -> torch.Tensor:
    """The first axes and the tokens as one axis: [joined.., heads.., tokens, size] -> [heads.., joined * tokens, size].
    It is a view where tokens lie outside of heads, or no heads are left; else a copy that lies so."""
    return tensor.movedim(-2, axes).flatten(0, axes).movedim(0, -2)


def apart(tensor: torch.Tensor, leading: tuple[int, ...]) -> torch.Tensor:
    """The view that undoes it: [heads.., joined * tokens, size] -> [joined.., heads.., tokens, size]."""
    tokens = tensor.shape[-2] // max(prod(leading), 1)
    return tensor.movedim(-2, 0).unflatten(0, (*leading, tokens)).movedim(len(leading), -2)
