"""The look-up of topologies and plans by the index tensors that a call brings.

A topology is known by the storages of its index tensors, the addresses in them, their versions and the shape. Its entry
refers to the storages weakly: their memory may go, but none of these can come to mean something else. What is not known
is planned: right, only slower. Entries go when their tensors are gone, and, least recently used first, where they hold
more device memory than the limit; work that was queued on a stream keeps its entry until it has run, and work that was
captured keeps it until clear().
"""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any, Callable

import torch

from .._context import Context
from .._topology import Topology
from ._checks import check_packed, check_structure
from ._devices import (
    INDEX_BYTES,
    WORKSPACE_ALIGNMENT,
    beside_captures,
    context_of,
    is_capturing,
    making_stream,
    stream_object,
    with_memory,
)
from ._entries import Entry, Known, Loaded, Prepared, place_of, place_of_packed, version_of

PLANS_KEPT = 256
SHARE_OF_MEMORY = 8
REWRITES_TOLD = 3


class Lookup:
    """Everything that is planned in this process."""

    def __init__(self) -> None:
        self.entries: dict[Any, Entry] = {}
        self.retired: list[tuple[list[Any], Entry]] = []
        self.limits: dict[int, int] = {}
        self.clock = 0
        self.overlap_calls = True
        self.misses = 0
        self.told_of_limit = False
        self.lock = threading.RLock()

    def entry(self, op: str, offsets: torch.Tensor, columns: torch.Tensor, rows: int, cols: int, stream: int) -> Entry:
        """The entry of this structure, made where it is not known. `op` is named in errors."""
        place = place_of(offsets, columns, rows, cols)
        entry = self.entries.get(place)
        if (
            entry is not None
            and (entry.versions is None or entry.versions == (offsets._version, columns._version))
            and entry.dtypes == (offsets.dtype, columns.dtype)
            and offsets.is_contiguous()
            and columns.is_contiguous()
        ):
            self._touch(entry, stream)
            return entry
        return self._made(op, place, offsets, columns, rows, cols, stream)

    def found(self, known: Known, offsets: torch.Tensor, columns: torch.Tensor, stream: int) -> Entry | None:
        """What is known of these very tensors, where it still holds."""
        if (
            offsets is not known.offsets
            or known.entry.forgotten
            or columns is not known.columns
            or offsets._version != known.versions[0]
            or columns._version != known.versions[1]
            or offsets.data_ptr() != known.addresses[0]
            or columns.data_ptr() != known.addresses[1]
        ):
            return None
        self._touch(known.entry, stream)
        return known.entry

    def _touch(self, entry: Entry, stream: int) -> None:
        """Notes a use. The default stream, 0, cannot be captured, and asking costs."""
        self.clock += 1
        entry.used = self.clock
        if entry.index >= 0:
            entry.streams.add(stream)
            if stream and not entry.captured and is_capturing(entry.index):
                entry.captured = True

    def _made(
        self, op: str, place: Any, offsets: torch.Tensor, columns: torch.Tensor, rows: int, cols: int, stream: int
    ) -> Entry:
        check_structure(op, offsets, columns, rows, "column_indices", columns)
        check_packed(op, offsets, columns)
        index = offsets.get_device()
        refuse_capture(op, index)
        versions = (version_of(offsets), version_of(columns))
        dtypes = (offsets.dtype, columns.dtype)
        with self.lock:
            known = self.entries.get(place)
            if known is not None and known.serves(versions, dtypes):  # another thread made it meanwhile
                self._touch(known, stream)
                return known
            rewritten = self._drop_stale(op, place)
            topology = with_memory(index, lambda: make_topology(index, offsets, columns, rows, cols))
            entry = Entry(topology, (offsets, columns), None if None in versions else versions, dtypes)
            entry.rewritten = rewritten
            return self._add(place, entry, stream)

    def _drop_stale(self, op: str, place: Any) -> int:
        """Lets an entry go whose index tensors were written to; returns how often that happened in this place."""
        stale = self.entries.pop(place, None)
        if stale is None:
            return 0
        self._retire(stale)
        if stale.rewritten == REWRITES_TOLD - 1:
            warnings.warn(
                f"the index tensors of vostok::{op} are written to again and again, and planned anew each time. With "
                "DistributedDataParallel: call vostok.torch.distributed.ignore_indices(model) before",
                stacklevel=2,
            )
        return stale.rewritten + 1

    def packed_entry(self, op: str, packed: torch.Tensor, make: Callable[[], Loaded], stream: int) -> Entry:
        """The entry of packed bytes, made of make() where it is not known."""
        place = place_of_packed(packed)
        entry = self.entries.get(place)
        if entry is not None and (entry.versions is None or entry.versions == packed._version):
            self._touch(entry, stream)
            return entry
        refuse_capture(op, packed.get_device())
        with self.lock:
            known = self.entries.get(place)
            if known is not None and known.serves(version_of(packed), None):
                self._touch(known, stream)
                return known
            rewritten = self._drop_stale(op, place)
            entry = self._add_packed(packed, with_memory(packed.get_device(), make), stream)
            entry.rewritten = rewritten
            return entry

    def add_packed(self, packed: torch.Tensor, made: Loaded, stream: int) -> None:
        """Notes bytes that were packed just now."""
        with self.lock:
            self._add_packed(packed, made, stream)

    def _add_packed(self, packed: torch.Tensor, made: Loaded, stream: int) -> Entry:
        topology, header, values = made
        entry = Entry(topology, (packed,), version_of(packed), None)
        entry.packed = (header, values)
        entry.copied_bytes = 0 if packed.data_ptr() % WORKSPACE_ALIGNMENT == 0 else values.nbytes
        return self._add(place_of_packed(packed), entry, stream)

    def _add(self, place: Any, entry: Entry, stream: int) -> Entry:
        self.misses += 1
        self.entries[place] = entry
        self._touch(entry, stream)
        self._evict(entry)
        return entry

    def plan(self, op: str, entry: Entry, key: Any, make: Callable[[Context], Prepared]) -> Prepared:
        """The entry's plan of that key, made where it is not known."""
        prepared = entry.plans.get(key)
        if prepared is not None:
            return prepared
        refuse_capture(op, entry.index)
        with self.lock:
            prepared = entry.plans.get(key)
            if prepared is None:
                self.misses += 1
                context = context_of(entry.index)
                prepared = with_memory(entry.index, lambda: make(context))
                while len(entry.plans) >= PLANS_KEPT and not entry.captured:
                    entry.plans.pop(next(iter(entry.plans)))
                entry.plans[key] = prepared
                self._evict(entry)
        return prepared

    def forget(self, offsets: torch.Tensor, columns: torch.Tensor, rows: int, cols: int) -> None:
        """Lets the entry of a structure go that is not needed any more, unless a captured graph needs it."""
        with self.lock:
            place = place_of(offsets, columns, rows, cols)
            entry = self.entries.get(place)
            if entry is not None and not entry.captured:
                self._retire(self.entries.pop(place))

    def limit(self, index: int) -> int:
        """Bytes of device memory that entries of a device may hold; default: an eighth of it."""
        found = self.limits.get(index)
        if found is None:
            found = self.limits[index] = context_of(index).device.memory_bytes // SHARE_OF_MEMORY
        return found

    def _evict(self, newest: Entry) -> None:
        """Lets entries go whose tensors are gone, and old ones of the device until what is held is within the limit."""
        self._settle()
        index = newest.index
        for place in [place for place, entry in self.entries.items() if entry.is_expired and not entry.captured]:
            self._retire(self.entries.pop(place))
        held = {place: entry.held_bytes for place, entry in self.entries.items() if entry.index == index}
        total = sum(held.values())
        for place in sorted(held, key=lambda place: self.entries[place].used):
            entry = self.entries[place]
            if total <= self.limit(index):
                return
            if entry is not newest and not entry.captured:
                self._tell_of_limit(index, total)
                total -= held[place]
                self._retire(self.entries.pop(place))

    def _tell_of_limit(self, index: int, total: int) -> None:
        """What goes is still in use, and is planned anew when it is called: slow, where a model needs all of it."""
        if self.told_of_limit:
            return
        self.told_of_limit = True
        warnings.warn(
            f"the structures in use hold {total} bytes of device memory, more than the limit of {self.limit(index)}: "
            "the oldest is forgotten, and planned anew at its next call. vostok.torch.set_limit raises it; frozen "
            "layers hold next to nothing",
            stacklevel=3,
        )

    def _retire(self, entry: Entry) -> None:
        """Lets an entry go once the work that is queued on its streams has run."""
        entry.forgotten = True
        if entry.index < 0 or not entry.streams:
            return
        events = []
        with beside_captures():
            for stream in entry.streams:
                event = torch.cuda.Event()
                event.record(stream_object(entry.index, stream))
                events.append(event)
        self.retired.append((events, entry))

    def _settle(self) -> None:
        if not self.retired:
            return
        with beside_captures():  # a query would end what another thread captures in global mode
            self.retired = [
                (events, entry) for events, entry in self.retired if not all(event.query() for event in events)
            ]

    def clear(self) -> None:
        """Forgets everything. Work on GPUs is waited for; graphs that were captured must not be replayed again."""
        with self.lock:
            for entry in self.entries.values():
                entry.forgotten = True
            for index in {entry.index for entry in [*self.entries.values(), *(entry for _, entry in self.retired)]}:
                if index >= 0:
                    torch.cuda.synchronize(index)
            self.entries.clear()
            self.retired.clear()


def make_topology(index: int, offsets: torch.Tensor, columns: torch.Tensor, rows: int, cols: int) -> Topology:
    """A topology of index tensors, which the library copies and checks."""
    return context_of(index).topology_at(
        offsets.data_ptr(),
        columns.data_ptr(),
        rows,
        cols,
        columns.shape[0],
        row_offset_bytes=INDEX_BYTES[offsets.dtype],
        column_index_bytes=INDEX_BYTES[columns.dtype],
        stream=making_stream(index),
    )


def refuse_capture(op: str, index: int) -> None:
    """Raises where the stream is being captured: planning compiles, loads and allocates."""
    if is_capturing(index):
        raise RuntimeError(
            f"cannot plan vostok::{op} while the stream is being captured: call "
            "vostok.torch.prepare(model, tokens) first"
        )


LOOKUP = Lookup()


def made_plan(context: Context, problem: Any, topology: Topology, **options: Any) -> Prepared:
    """A plan of the library."""
    return Prepared(context.plan(problem, topology, overlap_calls=LOOKUP.overlap_calls, **options))


def set_overlap_calls(overlap: bool) -> None:
    """Whether a call's first kernel may start while the kernel in front of it ends (default). False is for programs
    whose own kernels use programmatic dependent launch without waiting. Plans are made anew."""
    if LOOKUP.overlap_calls != bool(overlap):
        LOOKUP.overlap_calls = bool(overlap)
        LOOKUP.clear()


def clear() -> None:
    """Forgets all plans and topologies, and gives their memory back. Work that is queued on GPUs is waited for; CUDA
    graphs that use them must not be replayed again."""
    LOOKUP.clear()


def set_limit(size: int, device: torch.device | str = "cuda") -> None:
    """How many bytes of device memory the topologies that are kept for later calls may hold; default: an eighth of the
    device's memory."""
    where = torch.device(device)
    LOOKUP.limits[-1 if where.type == "cpu" else (where.index or 0)] = int(size)


def _after_fork() -> None:
    # The parent's objects cannot be used nor released here: they are left where they are.
    global _PARENTS
    _PARENTS = (dict(LOOKUP.entries), list(LOOKUP.retired))
    LOOKUP.__init__()  # type: ignore[misc]


_PARENTS: Any = None
os.register_at_fork(after_in_child=_after_fork)
