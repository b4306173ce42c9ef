"""Packed weights as one tensor of bytes that stands alone: a header of 256 bytes, a head, and the values.

Where the library adopts memory, the head is its own (the structure, compressed) and the values are read where they lie
in the tensor. Libraries of before save with their values no structure: the head is row offsets and column indices,
int32, what follows is all that they save, and it is copied when it is loaded.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy
import torch

from .. import _c
from .._errors import InvalidArgument, IoFailure
from .._handles import Bytes, make
from .._packed import PackedValues
from ._devices import ELEMENTS, WORKSPACE_ALIGNMENT, context_of, making_stream, workspace

ADOPTS = hasattr(_c.library, "vostok_packed_adopt")
HEADER_BYTES = 256
_VERSION = 2 if ADOPTS else 1
_MAGIC = b"vostok.torch.packed\0"
_HEADER = struct.Struct("<20sIqqqqq8s8s")
_KEEP_EXECUTION = 2


class _Memory(ctypes.Structure):  # vostok_packed_memory
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("release", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
    ]


class _LoadOptions(ctypes.Structure):  # vostok_load_options
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("keep", ctypes.c_int32),
        ("topology", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


class Header:
    """What packed bytes begin with. `head_bytes`: the length of the head."""

    def __init__(
        self, rows: int, cols: int, nonzeros: int, max_tokens: int, element: str, math: str, head_bytes: int = 0
    ) -> None:
        self.rows = rows
        self.cols = cols
        self.nonzeros = nonzeros
        self.max_tokens = max_tokens
        self.element = element
        self.math = math
        self.head_bytes = head_bytes

    def to_bytes(self) -> bytes:
        """256 bytes."""
        sizes = (self.rows, self.cols, self.nonzeros, self.max_tokens, self.head_bytes)
        text = _HEADER.pack(_MAGIC, _VERSION, *sizes, self.element.encode(), self.math.encode())
        return text.ljust(HEADER_BYTES, b"\0")

    @classmethod
    def of(cls, packed: torch.Tensor) -> Header:
        """Reads it. Errors: IoFailure for what is none."""
        data = bytes(packed[:HEADER_BYTES].cpu().numpy())
        size = packed.shape[0]
        if size < HEADER_BYTES or not data.startswith(_MAGIC):
            raise IoFailure("cannot read packed weights: the tensor does not hold bytes that vostok::pack made")
        _, version, rows, cols, nonzeros, max_tokens, head_bytes, *texts = _HEADER.unpack(data[: _HEADER.size])
        element, math = (text.rstrip(b"\0").decode("ascii", "replace") for text in texts)
        if version != _VERSION:
            raise IoFailure(f"cannot read packed weights: they have version {version}, and this package has {_VERSION}")
        if element not in ELEMENTS.values() or math not in _c.ENUMERATIONS["math"] or max_tokens < 1:
            raise IoFailure(f"cannot read packed weights: they are of {element!r}, {math!r}, for {max_tokens} tokens")
        if min(rows, cols, nonzeros, head_bytes) < 0 or size < HEADER_BYTES + head_bytes:
            raise IoFailure(f"cannot read packed weights: {size} bytes with a head of {head_bytes}")
        return cls(rows, cols, nonzeros, max_tokens, element, math, head_bytes)

    @property
    def payload(self) -> int:
        """Where the values begin."""
        return HEADER_BYTES + self.head_bytes


def stored(
    plan: Any, values: torch.Tensor, offsets: torch.Tensor, columns: torch.Tensor, header: Header
) -> torch.Tensor:
    """Values packed by a plan, as a tensor of bytes on their device. Waits for the device."""
    index = values.get_device()
    if ADOPTS:
        memory, address = workspace(values, plan.packed_bytes)
        into = _memory(address, plan.packed_bytes)
        handle = make(
            _c.library["vostok_plan_pack_into"],
            ctypes.c_void_p(plan.handle),
            ctypes.c_void_p(making_stream(index)),
            ctypes.c_void_p(values.data_ptr()),
            ctypes.byref(into),
        )
        packed = PackedValues(handle, plan.context)
        head = Bytes(make(_c.library["vostok_packed_save_head"], ctypes.c_void_p(packed.handle))).take()
        start = address - memory.data_ptr()
        body = memory[start : start + plan.packed_bytes]
    else:
        head = b"".join(tensor.to(torch.int32).cpu().numpy().tobytes() for tensor in (offsets, columns))
        body = _bytes_tensor(plan.pack(values.data_ptr(), making_stream(index)).to_bytes()).to(values.device)
    header.head_bytes = len(head)
    return torch.cat([_bytes_tensor(header.to_bytes() + head).to(values.device), body])


def _bytes_tensor(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _memory(address: int, size: int) -> _Memory:
    return _Memory(ctypes.sizeof(_Memory), 0, address, size, None, None)


def loaded(packed: torch.Tensor, rows: int, cols: int) -> tuple[Any, tuple[Header, Any]]:
    """A topology, header and packed values of the library for a tensor of packed bytes, which must outlive them."""
    header = Header.of(packed)
    if (header.rows, header.cols) != (rows, cols):
        raise InvalidArgument(
            f"cannot run vostok::linear_packed: packed is of {(header.rows, header.cols)}, and rows, cols are "
            f"{(rows, cols)}"
        )
    context = context_of(packed.get_device())
    if ADOPTS:
        values = _adopted(context, packed, header)
        return values.topology, (header, values)
    data = bytes(packed.cpu().numpy())
    if header.head_bytes != 4 * (rows + 1 + header.nonzeros):
        raise IoFailure(f"cannot read packed weights: a head of {header.head_bytes} bytes does not fit")
    indices = numpy.frombuffer(data, dtype=numpy.int32, count=rows + 1 + header.nonzeros, offset=HEADER_BYTES)
    topology = context.topology(indices[: rows + 1], indices[rows + 1 :], (rows, cols))
    return topology, (header, context.load_packed(data[header.payload :], topology))


def _adopted(context: Any, packed: torch.Tensor, header: Header) -> PackedValues:
    """The values where they lie, where their address is a multiple of 256; else a copy."""
    options = _LoadOptions(ctypes.sizeof(_LoadOptions), _KEEP_EXECUTION, None, making_stream(packed.get_device()))
    address = packed.data_ptr() + header.payload
    owner = ctypes.c_void_p(context.handle)
    if address % WORKSPACE_ALIGNMENT:
        data = bytes(packed[HEADER_BYTES:].cpu().numpy())
        handle = make(
            _c.library["vostok_packed_load_with"],
            owner,
            ctypes.c_char_p(data),
            ctypes.c_size_t(len(data)),
            ctypes.byref(options),
        )
        return PackedValues(handle, context)
    head = bytes(packed[HEADER_BYTES : header.payload].cpu().numpy())
    memory = _memory(address, packed.shape[0] - header.payload)
    handle = make(
        _c.library["vostok_packed_adopt"],
        owner,
        ctypes.c_char_p(head),
        ctypes.c_size_t(len(head)),
        ctypes.byref(memory),
        ctypes.byref(options),
    )
    return PackedValues(handle, context)
