"""Options of a context, as the C interface takes them."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Sequence

from . import _c
from . import _structures as s
from ._errors import InvalidType
from ._numbers import fill, path_bytes, text_bytes
from ._nvrtc import find_nvrtc
from ._tool import tool_path

_WHERE = "make a context"
_ENUMERATIONS = {"compile": "compile_policy", "first_run": "first_run"}
_TEXTS = ("device",)
_PATHS = ("shipped", "nvrtc", "worker_tool")
_LISTS = ("read_only", "trusted_keys")
_COUNTS = {"read_only": "read_only_count", "trusted_keys": "trusted_key_count"}


class Options:
    """The structure, and what it points to: callbacks must live as long as anything of the context."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.structure: Any = s.Options()
        _c.library.vostok_options_init(ctypes.byref(self.structure), ctypes.sizeof(self.structure))
        self.kept: list[Any] = []
        values = {name: value for name, value in given.items() if value is not None}
        self._set_cache(values)
        self._set_log(values.pop("log", None))
        self._set_allocator(values.pop("allocator", None))
        for name in _TEXTS:
            self._set_bytes(name, text_bytes(_WHERE, name, values.pop(name, "auto")))
        values.setdefault("nvrtc", find_nvrtc())
        values.setdefault("worker_tool", tool_path())
        for name in _PATHS:
            path = values.pop(name, None)
            if path is not None:
                self._set_bytes(name, path_bytes(_WHERE, name, path))
        for name in _LISTS:
            self._set_list(name, values.pop(name, ()))
        fill(_WHERE, self.structure, values, _ENUMERATIONS)

    def _set_bytes(self, name: str, value: bytes) -> None:
        self.kept.append(value)
        setattr(self.structure, name, value)

    def _set_list(self, name: str, paths: Sequence[Any]) -> None:
        if isinstance(paths, (str, bytes)):
            raise InvalidType(f"cannot {_WHERE}: {name} is {paths!r}, and must be a list of paths")
        texts = [path_bytes(_WHERE, name, path) for path in paths]
        array = (ctypes.c_char_p * len(texts))(*texts)
        self.kept.append(array)
        setattr(self.structure, name, ctypes.addressof(array) if texts else None)
        setattr(self.structure, _COUNTS[name], len(texts))

    def _set_cache(self, values: dict[str, Any]) -> None:
        """`cache` is whether there is one, or its folder."""
        cache = values.pop("cache", True)
        self.structure.cache_enabled = cache is not False
        if not isinstance(cache, bool):
            self._set_bytes("cache_folder", path_bytes(_WHERE, "cache", cache))

    def _set_log(self, log: Callable[[str, str], None] | None) -> None:
        if log is None:
            return
        if not callable(log):
            raise InvalidType(f"cannot {_WHERE}: log is {log!r}, and must be callable")

        def call(level: int, line: bytes, user: object) -> None:
            log(_c.ENUMERATIONS["log_level"][level], _c.text(line))

        self.structure.log = s.LogFunction(call)
        self.kept.append(self.structure.log)

    def _set_allocator(self, allocator: Any) -> None:
        if allocator is None:
            return
        for method in ("allocate", "release"):
            if not callable(getattr(allocator, method, None)):
                raise InvalidType(f"cannot {_WHERE}: allocator is {allocator!r}, which has no method {method}")
        self.structure.allocate = s.AllocateFunction(lambda size, user: allocator.allocate(size) or None)
        self.structure.release = s.ReleaseFunction(lambda memory, user: allocator.release(memory))
        self.kept += [self.structure.allocate, self.structure.release]
