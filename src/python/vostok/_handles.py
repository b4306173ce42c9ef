"""Owners of what the C interface hands out."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, NoReturn, TypeVar

from . import _c
from ._errors import check

Kind = TypeVar("Kind", bound="Handle")


class Handle:
    """Owns one reference to an object of the library, which is given back when the last Python reference goes.

    Objects are immutable and shared between threads. There is no early release: another thread may be inside a call.
    """

    __slots__ = ("_handle", "__weakref__")
    _release: Callable[[int], None]

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @property
    def handle(self) -> int:
        """The address of the C object, for other libraries; borrowed."""
        return self._handle

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", 0), 0
        if handle:
            self._release(handle)

    def __copy__(self: Kind) -> Kind:
        return self

    def __deepcopy__(self: Kind, memo: object) -> Kind:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__}: it belongs to this process and its device")


class Bytes(Handle):
    """Host memory that the library allocated."""

    __slots__ = ()
    _release = staticmethod(_c.library.vostok_bytes_release)

    def take(self) -> bytes:
        """A copy of the bytes."""
        return ctypes.string_at(
            _c.library.vostok_bytes_data(self._handle) or 0, _c.library.vostok_bytes_size(self._handle)
        )


def made(function: Any, *arguments: Any, results: int = 1) -> tuple[int, ...]:
    """Calls a function whose last parameters are so many addresses for new handles, and returns these."""
    outputs = [ctypes.c_void_p() for _ in range(results)]
    check(function(*arguments, *(ctypes.byref(output) for output in outputs)))
    return tuple(output.value or 0 for output in outputs)


def make(function: Any, *arguments: Any) -> int:
    """The same of a function that makes one handle."""
    return made(function, *arguments)[0]
