"""Exceptions: VostokError with the code of the library's error; where Python has a type for it, of that type too."""

from __future__ import annotations

from typing import NoReturn

from . import _c


class VostokError(RuntimeError):
    """What the library reports. `code` is "invalid_argument", "unsupported", ...: the names of vostok::ErrorCode."""

    code: str = "internal"

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class InvalidArgument(VostokError, ValueError):
    """A value that makes no sense: its name and the value are in the message."""

    code = "invalid_argument"


class InvalidType(VostokError, TypeError):
    """An operand of another type, element type or device than is needed."""

    code = "invalid_argument"


class InvalidTopology(VostokError, ValueError):
    """Index arrays that are no sparse matrix: row and value are in the message."""

    code = "invalid_topology"


class MisalignedPointer(VostokError, ValueError):
    """An address that breaks the alignment which the problem declared."""

    code = "misaligned_pointer"


class WrongDevice(VostokError, TypeError):
    """Objects of different contexts were mixed."""

    code = "wrong_device"


class OutOfMemory(VostokError, MemoryError):
    """The bytes asked for are in the message."""

    code = "out_of_memory"


class IoFailure(VostokError, OSError):
    """A file, or bytes that came from one, could not be read or written."""

    code = "io_failure"


class AfterFork(VostokError):
    """The object was made before this process was forked off, and cannot be used in it."""

    code = "after_fork"


_TYPES: dict[str, type[VostokError]] = {
    kind.code: kind
    for kind in (InvalidArgument, InvalidTopology, MisalignedPointer, WrongDevice, OutOfMemory, IoFailure, AfterFork)
}


def error_of(status: int, message: str) -> VostokError:
    """The exception of a failed call's status."""
    code = _c.STATUSES[status] if 0 < status < len(_c.STATUSES) else "internal"
    return _TYPES.get(code, VostokError)(message, code)


def fail(status: int) -> NoReturn:
    """Raises what this thread's last call failed with."""
    raise error_of(status, _c.text(_c.library.vostok_last_error()))


def check(status: int) -> None:
    """Raises where the status is not good."""
    if status:
        fail(status)
