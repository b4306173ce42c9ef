"""Which NVRTC the library is told to use: that of the running interpreter's environment, activated or not."""

from __future__ import annotations

import os
import re
import site
import sys
import sysconfig
from pathlib import Path
from typing import Iterable

# nvidia-cuda-nvrtc puts it into nvidia/cu13/lib, nvidia-cuda-nvrtc-cu12 into nvidia/cuda_nvrtc/lib.
_PATTERN = "nvidia/*/lib/libnvrtc.so*"


def site_folders() -> list[Path]:
    """Where this interpreter imports packages from."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    folders += site.getsitepackages([sys.prefix]) if hasattr(site, "getsitepackages") else []
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return [Path(folder) for folder in dict.fromkeys(folders) if folder]


def package_folders() -> list[Path]:
    """Where the package's own files lie: beside this one, and, of an editable installation, where it put them."""
    return [Path(__file__).resolve().parent, *(folder / "vostok" for folder in site_folders())]


def find_nvrtc(folders: Iterable[Path] | None = None) -> Path | None:
    """The newest libnvrtc below these folders (default: this interpreter's), or None where there is none.

    Nothing is looked for where VOSTOK_NVRTC names one: the library reads that by itself.
    """
    if os.environ.get("VOSTOK_NVRTC"):
        return None
    found = [path for folder in (site_folders() if folders is None else folders) for path in folder.glob(_PATTERN)]
    found = [path for path in found if path.is_file()]
    return max(found, key=_version, default=None)


def _version(path: Path) -> tuple[list[int], str]:
    return [int(digits) for digits in re.findall(r"\d+", path.name)], str(path)
