"""Values packed once for many products."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import secrets
from typing import TYPE_CHECKING, Any

from . import _c
from . import _structures as s
from ._arrays import view
from ._errors import InvalidArgument, InvalidType, IoFailure
from ._handles import Bytes, Handle, make
from ._numbers import Stream, chosen, stream_number

if TYPE_CHECKING:
    from ._context import Context
    from ._topology import Topology


class PackedValues(Handle):
    """Immutable, bound to the topology that they were packed for; made by SpmmPlan.pack and Context.load_packed."""

    __slots__ = ("context",)
    _release = staticmethod(_c.library.vostok_packed_release)

    def __init__(self, handle: int, context: Context) -> None:
        super().__init__(handle)
        self.context = context

    @property
    def format(self) -> str:
        """E.g. "strip16x64/pair/f16x3"."""
        return _c.text(_c.library.vostok_packed_format(self._handle))

    @property
    def nbytes(self) -> int:
        """Device memory."""
        return int(_c.library.vostok_packed_bytes(self._handle))

    @property
    def topology(self) -> Topology:
        """Where these nonzeros are."""
        from ._topology import Topology

        return Topology(make(_c.library.vostok_packed_topology, self._handle), self.context)

    def to_bytes(self) -> bytes:
        """Everything that Context.load_packed needs. Waits for the device."""
        return Bytes(make(_c.library.vostok_packed_save, self._handle)).take()

    def head(self) -> bytes:
        """All of to_bytes but the values, which are its last `nbytes` bytes: for Context.adopt_packed. A multiple of
        256 bytes long."""
        return Bytes(make(_c.library.vostok_packed_save_head, self._handle)).take()

    def save(self, path: str | os.PathLike[str]) -> None:
        """The same, into a file that is there whole or not at all. Errors: OSError."""
        data = self.to_bytes()
        target = os.path.realpath(os.fspath(path))
        name = f"{target}.{secrets.token_hex(6)}"
        try:
            with open(name, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise


# Arrays whose memory packed values lie in, until the library lets it go.
_adopted: dict[int, Any] = {}
_numbers = itertools.count(1)


def _let_go(data: int, user: int) -> None:
    _adopted.pop(user, None)


_release = s.ReleaseFunction(_let_go)


class Memory:
    """Device memory of so many bytes, as the C interface takes it. `keeper` is kept as long as the library reads it."""

    def __init__(self, address: int, size: int, keeper: Any = None) -> None:
        self.structure: Any = s.PackedMemory()
        _c.library.vostok_packed_memory_init(ctypes.byref(self.structure), ctypes.sizeof(self.structure))
        self.structure.data = address
        self.structure.bytes = size
        self._number = 0
        if keeper is not None:
            self.structure.release = _release
            self.structure.user = self._number = next(_numbers)
            _adopted[self._number] = keeper

    def make(self, context: Context, function: Any, *arguments: Any) -> PackedValues:
        """The values; where the call fails the keeper is let go here."""
        try:
            return PackedValues(make(function, *arguments), context)
        except BaseException:
            _adopted.pop(self._number, None)
            raise


def memory_of(where: str, array: Any, is_written: bool = False) -> tuple[Memory, Stream]:
    """The memory of an array, which is kept, and the stream that it is complete on."""
    seen = view(where, "memory", array)
    if is_written and not seen.writable:
        raise InvalidArgument(f"cannot {where}: memory is read-only")
    if not seen.on_device and seen.owner is not array:
        raise InvalidType(f"cannot {where}: memory is {type(array).__name__}, and must be an array")
    if not seen.is_packed():
        raise InvalidArgument(f"cannot {where}: memory has strides {seen.strides}, and must be packed")
    return Memory(seen.address, seen.nbytes, array), seen.stream


class LoadOptions:
    """How packed values are loaded, as the C interface takes it."""

    def __init__(self, topology: Topology | None, keep: str, stream: Stream) -> None:
        where = "load packed values"
        self.structure: Any = s.LoadOptions()
        _c.library.vostok_load_options_init(ctypes.byref(self.structure), ctypes.sizeof(self.structure))
        self.structure.keep = chosen(where, "keep", keep, "keep")
        self.structure.topology = None if topology is None else topology.handle
        self.structure.stream = stream_number(where, stream)
        self.topology = topology


def load_packed(context: Context, source: Any, options: LoadOptions) -> PackedValues:
    """What Context.load_packed does: from bytes, or from a file of that name."""
    if isinstance(source, (str, os.PathLike)):
        try:
            with open(source, "rb") as file:
                data = file.read()
        except OSError as error:
            raise IoFailure(f"cannot load packed values: {os.fspath(source)}: {error.strerror}") from error
    else:
        data = _bytes("load packed values", "source", source, "bytes or a path")
    structure = ctypes.byref(options.structure)
    function = _c.library.vostok_packed_load_with
    return PackedValues(make(function, context.handle, _address(data), len(data), structure), context)


def adopt_packed(context: Context, array: Any, head: bytes | None, options: LoadOptions) -> PackedValues:
    """What Context.adopt_packed does."""
    where = "adopt packed values"
    data = None if head is None else _bytes(where, "head", head, "bytes")
    memory, stream = memory_of(where, array)
    options.structure.stream = options.structure.stream or stream or None
    return adopt_memory(context, memory, data, options)


def adopt_memory(context: Context, memory: Memory, head: bytes | None, options: LoadOptions) -> PackedValues:
    """The same of memory that is known."""
    return memory.make(
        context,
        _c.library.vostok_packed_adopt,
        context.handle,
        None if head is None else _address(head),
        0 if head is None else len(head),
        ctypes.byref(memory.structure),
        ctypes.byref(options.structure),
    )


def _bytes(where: str, name: str, value: Any, wanted: str) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise InvalidType(f"cannot {where}: {name} is {value!r}, and must be {wanted}")
    return bytes(value)


def _address(data: bytes) -> ctypes.c_void_p:
    """Where bytes lie, which must outlive the call."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
