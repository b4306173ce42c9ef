"""Sparse layers and functions for PyTorch, on NVIDIA GPUs and, for correctness, on the CPU.

    import vostok.torch as vt
    vt.sparsify_(model)          # pruned nn.Linear layers become SparseLinear where that is faster
    vt.prepare(model, [1, 8])    # plans and compiles ahead: before CUDA graphs, before serving

Shards over processes are in vostok.torch.distributed, which is imported apart.
"""

from . import tuning
from ._csr import Csr, csr, dense
from ._devices import set_context
from ._files import load_packed, save_packed
from ._freezing import freeze_
from ._functional import attention, linear, sddmm, softmax, spmm
from ._joined import JoinedMask, join_masks
from ._lookup import clear, set_limit, set_overlap_calls
from ._masks import BandedMask, BigBirdMask, csr_of_block_mask, csr_of_lists
from ._modules import FrozenSparseLinear, SparseLinear
from ._prepare import doctor, explain, prepare
from ._report import Report
from ._rigl import RigL, move_state
from ._sparsify import sparsify_

__all__ = [
    "BandedMask",
    "BigBirdMask",
    "Csr",
    "FrozenSparseLinear",
    "JoinedMask",
    "Report",
    "RigL",
    "SparseLinear",
    "attention",
    "clear",
    "csr",
    "csr_of_block_mask",
    "csr_of_lists",
    "dense",
    "doctor",
    "explain",
    "freeze_",
    "join_masks",
    "linear",
    "load_packed",
    "move_state",
    "prepare",
    "save_packed",
    "sddmm",
    "set_context",
    "set_limit",
    "set_overlap_calls",
    "softmax",
    "sparsify_",
    "spmm",
    "tuning",
]
