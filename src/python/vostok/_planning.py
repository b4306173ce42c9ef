"""How a plan is made: options, progress, and Ctrl-C while kernels are measured."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import signal
import sys
import threading
from typing import Any, Callable, Iterator, Optional, Union

from . import _c
from . import _structures as s
from ._errors import InvalidType
from ._numbers import chosen, fill, text_bytes

Progress = Union[bool, None, Callable[[str], None]]
Stop = Optional[Callable[[], bool]]

_ENUMERATIONS = {"effort": "effort", "policy": "policy"}
MEASURING = ("quick", "full")


class PlanOptions:
    """The C structure, and the callbacks that it points to. One that an exception left is kept in `failure`."""

    def __init__(self, where: str, progress: Callable[[str], None] | None, stop: Stop, **values: Any) -> None:
        self.structure: Any = s.PlanOptions()
        _c.library.vostok_plan_options_init(ctypes.byref(self.structure), ctypes.sizeof(self.structure))
        self.failure: BaseException | None = None
        self.texts = {name: text_bytes(where, name, values.pop(name, "")) for name in ("family", "packed_format")}
        for name, text in self.texts.items():
            if text:
                setattr(self.structure, name, text)
        fill(where, self.structure, values, _ENUMERATIONS)
        self._progress = progress
        self._stop = stop
        if progress is not None:
            self.structure.progress = s.ProgressFunction(self._tell)
        if stop is not None:
            self.structure.stop = s.StopFunction(self._asked)

    def _tell(self, line: bytes, user: object) -> None:
        try:
            if self.failure is None and self._progress is not None:
                self._progress(_c.text(line))
        except BaseException as failure:
            self.failure = failure

    def _asked(self, user: object) -> int:
        try:
            return int(self.failure is not None or (self._stop is not None and bool(self._stop())))
        except BaseException as failure:
            self.failure = failure
            return 1


@contextlib.contextmanager
def interruptible(effort: str) -> Iterator[Callable[[], bool]]:
    """Ctrl-C while kernels are measured ends that as the end of the budget does: what was measured is kept, and
    KeyboardInterrupt is raised afterwards. Yields what tells whether it came."""
    came: list[int] = []
    on_main_thread = threading.current_thread() is threading.main_thread()
    if effort not in MEASURING or not on_main_thread or not callable(signal.getsignal(signal.SIGINT)):
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


class ProgressLine:
    """A bar and the latest line, written over itself on a terminal; without one only what has ended is told."""

    def __init__(self, total: int, stream: Any = None) -> None:
        self.total = total
        self.done = 0
        self.stream = sys.stderr if stream is None else stream
        self.is_terminal = bool(getattr(self.stream, "isatty", lambda: False)())

    def __call__(self, line: str) -> None:
        if self.is_terminal:
            self._write("\r\x1b[2K" + self._text(line)[: shutil.get_terminal_size().columns - 1])

    def finish(self, line: str) -> None:
        """One more has ended."""
        self.done += 1
        self._write(("\r\x1b[2K" if self.is_terminal else "") + self._text(line) + "\n")

    def _text(self, line: str) -> str:
        width = 20
        filled = width * self.done // max(self.total, 1)
        return f"[{'#' * filled}{'.' * (width - filled)}] {self.done}/{self.total} {line}"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def progress_of(where: str, progress: Progress) -> Callable[[str], None] | None:
    """What is called with each line: as given; True: a line on stderr; None and False: nothing."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return ProgressLine(1)
    if not callable(progress):
        raise InvalidType(f"cannot {where}: progress is {progress!r}, and must be callable or a bool")
    return progress


def checked_effort(where: str, effort: object) -> str:
    """One of the efforts' names."""
    return _c.ENUMERATIONS["effort"][chosen(where, "effort", effort, "effort")]
