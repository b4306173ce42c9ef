"""What the look-up holds: topologies with their plans, and what tensors they are known by."""

from __future__ import annotations

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .._topology import Topology

Loaded = tuple[Topology, Any, Any]  # header and values of packed weights behind it


class Prepared:
    """A plan and what an execute asks of it."""

    __slots__ = ("plan", "handle", "workspace_bytes")

    def __init__(self, plan: Any) -> None:
        self.plan = plan
        self.handle = plan.handle
        self.workspace_bytes = plan.workspace_bytes


class Entry:
    """A topology with its plans. `storages`: weak references to what its place in memory belongs to; `packed`: header
    and values of packed weights; `beside`: a weak reference to the head that a second format was compared with;
    `copied_bytes`: device memory that the values take beside the tensor's."""

    __slots__ = (
        "topology",
        "index",
        "storages",
        "versions",
        "dtypes",
        "packed",
        "beside",
        "copied_bytes",
        "plans",
        "used",
        "streams",
        "captured",
        "rewritten",
        "forgotten",
    )

    def __init__(self, topology: Topology, tensors: tuple[torch.Tensor, ...], versions: Any, dtypes: Any) -> None:
        self.topology = topology
        self.index = tensors[0].get_device()
        self.storages = [StorageWeakRef(tensor.untyped_storage()) for tensor in tensors]
        self.versions = versions
        self.dtypes = dtypes
        self.packed: Any = None
        self.beside: Any = None
        self.copied_bytes = 0
        self.plans: dict[Any, Prepared] = {}
        self.used = 0
        self.streams: set[int] = set()
        self.captured = False
        self.rewritten = 0
        self.forgotten = False

    def serves(self, versions: Any, dtypes: Any) -> bool:
        """Whether it is of tensors that were written as often, and are of these types."""
        return (self.versions is None or self.versions == versions) and self.dtypes == dtypes

    @property
    def held_bytes(self) -> int:
        """Device memory that goes with the entry."""
        return self.topology.device_bytes + self.copied_bytes

    @property
    def is_expired(self) -> bool:
        """Whether no tensor can name it any more."""
        return any(storage.expired() for storage in self.storages)


class Known:
    """A layer's entry, and the tensor objects that it was found by: found again in a fraction of the time."""

    __slots__ = ("entry", "offsets", "columns", "versions", "addresses")

    def __init__(self) -> None:
        self.offsets: torch.Tensor | None = None

    def note(self, entry: Entry, offsets: torch.Tensor, columns: torch.Tensor) -> None:
        """Tensors that do not count how often they were written are not noted."""
        if entry.versions is not None:
            self.entry = entry
            self.offsets = offsets
            self.columns = columns
            self.versions = entry.versions
            self.addresses = (offsets.data_ptr(), columns.data_ptr())

    def __reduce__(self) -> Any:
        return (Known, ())  # copies of a layer know nothing yet


def version_of(tensor: torch.Tensor) -> int | None:
    """How often it was written; None for inference tensors, which do not count."""
    return None if tensor.is_inference() else tensor._version


def place_of(offsets: torch.Tensor, columns: torch.Tensor, rows: int, cols: int) -> Any:
    """What a structure is known by: storages, not addresses alone, which others may have after them."""
    return (
        offsets.untyped_storage()._cdata,
        offsets.data_ptr(),
        columns.untyped_storage()._cdata,
        columns.data_ptr(),
        columns.shape[0],
        rows,
        cols,
    )


def place_of_packed(packed: torch.Tensor) -> Any:
    """The same of packed bytes."""
    return (packed.untyped_storage()._cdata, packed.data_ptr(), packed.shape[0])
