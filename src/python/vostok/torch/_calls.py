"""Executes by address: the bytes of an arguments structure, and the call. A microsecond on the hot path."""

from __future__ import annotations

from typing import Any

import torch

from .. import _c
from .. import _structures as s
from .._errors import fail
from .._plans import _packer
from ._devices import workspace
from ._entries import Prepared

_execute = {
    name: _c.raw_execute(name)
    for name in ("spmm", "sddmm", "softmax", "softmax_backward", "attention", "attention_backward")
}
execute_spmm = _execute["spmm"]
spmm_size, pack_spmm = _packer(s.SpmmArguments)
_PACKERS = {
    "sddmm": _packer(s.SddmmArguments),
    "softmax": _packer(s.SoftmaxArguments),
    "softmax_backward": _packer(s.SoftmaxBackwardArguments),
    "attention": _packer(s.AttentionArguments),
    "attention_backward": _packer(s.AttentionBackwardArguments),
}


def run(
    operation: str,
    prepared: Prepared,
    stream: int,
    like: torch.Tensor,
    scale: float,
    *addresses: int,
    rest: tuple[Any, ...] = (),
) -> None:
    """Executes a plan whose arguments are a scale, operands in the order of the C structure, a workspace, and what the
    structure has behind that."""
    size, pack = _PACKERS[operation]
    memory, address = workspace(like, prepared.workspace_bytes, stream) if prepared.workspace_bytes else (None, 0)
    status = _execute[operation](prepared.handle, stream, pack(size, scale, *addresses, address, *rest))
    if status:
        fail(status)
    del memory


def run_spmm(
    prepared: Prepared,
    stream: int,
    like: torch.Tensor,
    scale: float,
    values: int,
    packed: int,
    dense: int,
    output: int,
    bias: int,
    residual: int,
    n: int,
) -> None:
    """The same of an SpMM."""
    memory: Any = None
    address = 0
    if prepared.workspace_bytes:
        memory, address = workspace(like, prepared.workspace_bytes, stream)
    status = execute_spmm(
        prepared.handle,
        stream,
        pack_spmm(spmm_size, scale, values, packed, dense, output, bias, residual, 0, address, n),
    )
    if status:
        fail(status)
    del memory
