"""In which numbers dense twins compute, beside ours of an element type."""

from typing import NamedTuple

import torch


class Numbers(NamedTuple):
    dtype: torch.dtype
    tf32: bool
    tolerance: float  # of the worst image or sequence


DENSE = {"f32": ("fp32", "tf32"), "f16": ("f16",)}
