"""The `vostok` tool that comes with the package: commands for people, and the process that tries new kernels."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ._nvrtc import find_nvrtc, package_folders


def tool_path() -> Path | None:
    """The tool that VOSTOK_TOOL names, else this package's; None without one."""
    named = os.environ.get("VOSTOK_TOOL")
    if named:
        return Path(named)
    found = (folder / "bin" / "vostok" for folder in package_folders())
    return next((tool for tool in found if os.access(tool, os.X_OK)), None)


def tool_environment() -> dict[str, str]:
    """This process's environment, with the interpreter's NVRTC where nothing else is named."""
    environment = dict(os.environ)
    nvrtc = find_nvrtc()
    if nvrtc is not None:
        environment["VOSTOK_NVRTC"] = str(nvrtc)
    return environment


def main() -> int:
    """Hands this process over to the tool with the arguments that it has; returns only where that fails."""
    tool = tool_path()
    if tool is None:
        print("vostok: no tool: this package has no bin/vostok, and VOSTOK_TOOL names no other", file=sys.stderr)
        return 1
    sys.stdout.flush()
    try:
        os.execve(tool, ["vostok", *sys.argv[1:]], tool_environment())
    except OSError as error:
        print(f"vostok: cannot run {tool}: {error.strerror}", file=sys.stderr)
    return 1
