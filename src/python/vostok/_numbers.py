"""Values of Python as the C interface takes them; what does not fit is refused by name."""

from __future__ import annotations

import ctypes
import math
import operator
import os
from typing import Any, Mapping, Protocol, Union

from . import _c
from ._errors import InvalidArgument, InvalidType


class HasStream(Protocol):
    """A stream of another library (CuPy, Numba, torch), by CUDA's protocol for Python."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


Stream = Union[int, HasStream]

_RANGES: dict[Any, tuple[int, int]] = {
    ctypes.c_int32: (-(2**31), 2**31 - 1),
    ctypes.c_uint32: (0, 2**32 - 1),
    ctypes.c_int64: (-(2**63), 2**63 - 1),
    ctypes.c_uint64: (0, 2**64 - 1),
    ctypes.c_void_p: (0, 2**64 - 1),
}


def integer(where: str, name: str, value: object, kind: Any = ctypes.c_int64) -> int:
    """An int that the C type holds."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidType(f"cannot {where}: {name} is {value!r}, and must be an int") from None
    low, high = _RANGES[kind]
    if not low <= number <= high:
        raise InvalidArgument(f"cannot {where}: {name} is {number}, and must be from {low} to {high}")
    return number


def stream_number(where: str, stream: Stream) -> int:
    """The address of a stream: an int, or what an object of another library gives by __cuda_stream__."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        try:
            _, stream = protocol()
        except (TypeError, ValueError):
            raise InvalidType(f"cannot {where}: stream is {stream!r}, whose __cuda_stream__ makes no sense") from None
    return integer(where, "stream", stream, ctypes.c_void_p)


def real(where: str, name: str, value: object) -> float:
    """A float."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidType(f"cannot {where}: {name} is {value!r}, and must be a number") from None
    except OverflowError:
        return math.inf


def chosen(where: str, name: str, value: object, enumeration: str) -> int:
    """The number of an enumerator that is given by its name."""
    names = _c.ENUMERATIONS[enumeration]
    if not isinstance(value, str):
        raise InvalidType(f"cannot {where}: {name} is {value!r}, and must be a str")
    if value not in names:
        raise InvalidArgument(f"cannot {where}: {name} is {value!r}, and may be {alternatives(names)}")
    return names.index(value)


def alternatives(names: tuple[str, ...]) -> str:
    """'a, b or c'."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def path_bytes(where: str, name: str, value: object) -> bytes:
    """A path, as the file system spells it."""
    try:
        encoded = os.fsencode(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidType(f"cannot {where}: {name} is {value!r}, and must be a path") from None
    return without_nul(where, name, encoded)


def text_bytes(where: str, name: str, value: object) -> bytes:
    """A str as UTF-8."""
    if not isinstance(value, str):
        raise InvalidType(f"cannot {where}: {name} is {value!r}, and must be a str")
    return without_nul(where, name, value.encode("utf-8", "surrogateescape"))


def without_nul(where: str, name: str, value: bytes) -> bytes:
    """C strings end at a NUL, so that one within would cut the value short unseen."""
    if b"\0" in value:
        raise InvalidArgument(f"cannot {where}: {name} holds a NUL character")
    return value


def fill(
    where: str, structure: ctypes.Structure, values: Mapping[str, object], enumerations: Mapping[str, str]
) -> None:
    """Sets fields of a structure: numbers, flags, and enumerators by their names."""
    kinds: dict[str, Any] = {field[0]: field[1] for field in structure._fields_}
    for name, value in values.items():
        kind = kinds[name]
        if name in enumerations:
            number: float = chosen(where, name, value, enumerations[name])
        elif kind in (ctypes.c_double, ctypes.c_float):
            number = real(where, name, value)
        else:
            number = integer(where, name, value, kind)
        setattr(structure, name, number)
