"""Tuned choices and compiled kernels: what a program hands on, and the files, by the tool that comes with the package.

Functions with files run `vostok cache ...` and return what it prints; where it fails, VostokError has its sentence.

Do not open the files of a cache that is in use by another SQLite of the same process, Python's sqlite3 among them: once
that closes a file, the locks that the library holds on it are gone, and another process may write at the same time.
Read them by these functions, which run in a process of their own, or read a copy.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Union

from ._context import Context, default_context
from ._errors import InvalidType, VostokError
from ._tool import tool_environment, tool_path

__all__ = ["dump", "export_cache", "import_cache", "load", "merge", "reload", "run", "verify"]

FilePath = Union[str, "os.PathLike[str]"]


def export_cache(context: Context | None = None) -> bytes:
    """The choices and trials of the user's own cache and of memory, as text: to be imported elsewhere."""
    return _context(context).export_cache()


def import_cache(data: bytes, context: Context | None = None) -> None:
    """Adds such rows; what was measured on this very device stays. Errors: InvalidArgument naming the line."""
    _context(context).import_cache(data)


def reload(context: Context | None = None) -> None:
    """Asks the cache files again, with what other processes wrote meanwhile."""
    _context(context).reload()


def _context(context: Context | None) -> Context:
    return default_context() if context is None else context


def merge(*files: FilePath, out: FilePath) -> str:
    """Joins cache files into one: `vostok cache merge`. Commutative."""
    return run("merge", *files, "--out", out)


def dump(file: FilePath) -> str:
    """A tuning.db as sorted text: `vostok cache dump`."""
    return run("dump", file)


def load(text: FilePath, into: FilePath) -> str:
    """Adds the rows of such text to a tuning.db, which is made where it is not there: `vostok cache load`."""
    return run("load", text, "--into", into)


def verify(file: FilePath, trust: FilePath | None = None) -> str:
    """Checks a file's pages, rows and kernels, and whether a public key's owner signed it: `vostok cache verify`."""
    return run("verify", file, *(() if trust is None else ("--trust", trust)))


def run(*arguments: FilePath) -> str:
    """`vostok cache ARGUMENTS`: what it prints. Errors: VostokError with what it says on stderr."""
    tool = tool_path()
    if tool is None:
        raise VostokError(
            "cannot run vostok cache: the package has no bin/vostok, and VOSTOK_TOOL names no other", "io_failure"
        )
    try:
        words = [os.fspath(argument) for argument in arguments]
    except TypeError as error:
        raise InvalidType(f"cannot run vostok cache: {error}") from None
    command = [str(Path(tool)), "cache", *words]
    try:
        done = subprocess.run(
            command, env=tool_environment(), capture_output=True, text=True, errors="backslashreplace"
        )
    except OSError as error:
        raise VostokError(f"cannot run {tool}: {error.strerror}", "io_failure") from error
    if done.returncode != 0:
        said = done.stderr.strip() or f"status {done.returncode}"
        raise VostokError(f"cannot run vostok cache {' '.join(words)}: {said}", "io_failure")
    return done.stdout
