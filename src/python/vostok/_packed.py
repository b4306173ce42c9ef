"""Values packed once for many products."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
from typing import TYPE_CHECKING, Any

from . import _c
from ._errors import InvalidType, IoFailure
from ._handles import Bytes, Handle, make

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


def load_packed(context: Context, source: Any, topology: Topology | None) -> PackedValues:
    """What Context.load_packed does: from bytes, or from a file of that name."""
    if isinstance(source, (str, os.PathLike)):
        try:
            with open(source, "rb") as file:
                data = file.read()
        except OSError as error:
            raise IoFailure(f"cannot load packed values: {os.fspath(source)}: {error.strerror}") from error
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    else:
        raise InvalidType(f"cannot load packed values: source is {source!r}, and must be bytes or a path")
    handle = 0 if topology is None else topology.handle
    buffer = ctypes.c_char_p(data)
    address = ctypes.cast(buffer, ctypes.c_void_p)
    return PackedValues(make(_c.library.vostok_packed_load, context.handle, handle, address, len(data)), context)
