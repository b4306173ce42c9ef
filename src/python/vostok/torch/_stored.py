"""Packed weights as two tensors of bytes: `packed`, the values in device memory, which kernels read where they lie, and
`head` in host memory, which says what they are: 256 bytes of this package, then the library's head (the structure,
compressed, and a digest of everything). Together they stand alone.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import torch

from .. import _c
from .._context import Context
from .._errors import IoFailure
from .._packed import LoadOptions, Memory, PackedValues, adopt_memory
from .._topology import Topology
from ._devices import ELEMENTS, WORKSPACE_ALIGNMENT, aligned_memory, context_of, making_stream

HEADER_BYTES = 256
_VERSION = 4
_MAGIC = b"vostok.torch.packed\0"
_HEADER = struct.Struct("<20sIqqqq8s8s8s")
_CHECKED = struct.Struct("<I")  # a checksum of these, right behind them


class Header:
    """What a head begins with. `policy`: "warm", "cold", or "" where plans go by the layer's own size. `packed_bytes`:
    the length of `packed`."""

    def __init__(
        self,
        rows: int,
        cols: int,
        max_tokens: int,
        element: str,
        math: str,
        policy: str = "",
        packed_bytes: int = 0,
    ) -> None:
        self.rows = rows
        self.cols = cols
        self.max_tokens = max_tokens
        self.element = element
        self.math = math
        self.policy = policy
        self.packed_bytes = packed_bytes

    def to_bytes(self) -> bytes:
        """256 bytes."""
        sizes = (self.rows, self.cols, self.max_tokens, self.packed_bytes)
        texts = (text.encode() for text in (self.element, self.math, self.policy))
        fields = _HEADER.pack(_MAGIC, _VERSION, *sizes, *texts)
        return (fields + _CHECKED.pack(zlib.crc32(fields))).ljust(HEADER_BYTES, b"\0")

    @classmethod
    def of(cls, head: bytes) -> Header:
        """Reads it. Errors: IoFailure for what is none."""
        if len(head) < HEADER_BYTES or not head.startswith(_MAGIC):
            raise IoFailure("cannot read packed weights: head does not hold bytes that vostok::pack made")
        _, version, rows, cols, max_tokens, packed_bytes, *texts = _HEADER.unpack(head[: _HEADER.size])
        element, math, policy = (text.rstrip(b"\0").decode("ascii", "replace") for text in texts)
        if version != _VERSION:
            raise IoFailure(f"cannot read packed weights: they have version {version}, and this package has {_VERSION}")
        if _CHECKED.unpack_from(head, _HEADER.size)[0] != zlib.crc32(head[: _HEADER.size]):
            raise IoFailure("cannot read packed weights: the checksum of head's first bytes does not match")
        if element not in ELEMENTS.values() or math not in _c.ENUMERATIONS["math"] or max_tokens < 1:
            raise IoFailure(f"cannot read packed weights: they are of {element!r}, {math!r}, for {max_tokens} tokens")
        if policy and policy not in _c.ENUMERATIONS["policy"]:
            raise IoFailure(f"cannot read packed weights: they are of policy {policy!r}")
        return cls(rows, cols, max_tokens, element, math, policy, packed_bytes)


def header_of(head: torch.Tensor) -> Header:
    """The header of a head tensor."""
    return Header.of(bytes(head[:HEADER_BYTES].cpu().numpy()))


def stored(plan: Any, values: torch.Tensor, header: Header) -> tuple[torch.Tensor, torch.Tensor, PackedValues]:
    """Values packed by a plan: both tensors, and the library's object, which reads the first. Waits for the device."""
    size = plan.packed_bytes
    memory, address = aligned_memory(values, size)
    start = address - memory.data_ptr()
    packed = plan.pack_into(Memory(address, size), values.data_ptr(), making_stream(values.get_device()))
    header.packed_bytes = size
    head = torch.frombuffer(bytearray(header.to_bytes() + packed.head()), dtype=torch.uint8)
    return memory[start : start + size], head, packed


def loaded(packed: torch.Tensor, head: torch.Tensor) -> tuple[Topology, Header, PackedValues]:
    """What the library makes of the two tensors, the first of which must outlive it."""
    data = bytes(head.cpu().numpy())
    header = Header.of(data)
    if header.packed_bytes != packed.shape[0]:
        raise IoFailure(
            f"cannot read packed weights: packed has {packed.shape[0]} bytes, and head is of {header.packed_bytes}"
        )
    values = _taken(context_of(packed.get_device()), packed, data[HEADER_BYTES:])
    return values.topology, header, values


def _taken(context: Context, packed: torch.Tensor, head: bytes) -> PackedValues:
    """The values where they lie, where their address is a multiple of 256; else a copy."""
    address = packed.data_ptr()
    stream = making_stream(packed.get_device())
    if address % WORKSPACE_ALIGNMENT:
        return context.load_packed(head + bytes(packed.cpu().numpy()), keep="execution", stream=stream)
    return adopt_memory(context, Memory(address, packed.shape[0]), head, LoadOptions(None, "execution", stream))


def leave_what_executing_reads(values: PackedValues) -> None:
    """Gives back what packing read, once no plan is there that packs."""
    if not values.format.startswith("csr/"):
        values.topology.release_packing()
