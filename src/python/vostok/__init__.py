"""Sparse matrices on NVIDIA GPUs: products, sampled products, softmax and attention, planned, generated and tuned.

    import vostok
    a = vostok.csr(w)      # scipy.sparse, a dense array, or (data, indices, indptr, shape)
    y = a @ x

Without a GPU the same kernels run on the CPU, for correctness.
"""

from . import cache, tools, tuning
from ._arrays import DeviceArray
from ._attention import attention, attention_backward
from ._c import version as _version
from ._context import Context, Counters, DeviceInfo, default_context
from ._convolution import bias_activation, depthwise_convolution, im2col
from ._csr import Csr, csr
from ._dense_plans import BiasActivationPlan, DepthwisePlan, Im2colPlan
from ._errors import (
    AfterFork,
    InvalidArgument,
    InvalidTopology,
    InvalidType,
    IoFailure,
    MisalignedPointer,
    OutOfMemory,
    VostokError,
    WrongDevice,
)
from ._packed import PackedValues
from ._packed_matrix import PackedMatrix, load_packed
from ._plans import AttentionBackwardPlan, AttentionPlan, Plan, SddmmPlan, SoftmaxBackwardPlan, SoftmaxPlan, SpmmPlan
from ._problems import (
    BiasActivation,
    DepthwiseConvolution,
    Im2col,
    Sddmm,
    Softmax,
    SoftmaxBackward,
    SparseAttention,
    SparseAttentionBackward,
    Spmm,
)
from ._products import linear, spmm
from ._sampled import sddmm, softmax, softmax_backward
from ._topology import Statistics, Topology

__version__ = _version()

__all__ = [
    "__version__",
    "AfterFork",
    "AttentionBackwardPlan",
    "AttentionPlan",
    "BiasActivation",
    "BiasActivationPlan",
    "Context",
    "Counters",
    "Csr",
    "DepthwiseConvolution",
    "DepthwisePlan",
    "DeviceArray",
    "DeviceInfo",
    "Im2col",
    "Im2colPlan",
    "InvalidArgument",
    "InvalidTopology",
    "InvalidType",
    "IoFailure",
    "MisalignedPointer",
    "OutOfMemory",
    "PackedMatrix",
    "PackedValues",
    "Plan",
    "Sddmm",
    "SddmmPlan",
    "Softmax",
    "SoftmaxBackward",
    "SoftmaxBackwardPlan",
    "SoftmaxPlan",
    "SparseAttention",
    "SparseAttentionBackward",
    "Spmm",
    "SpmmPlan",
    "Statistics",
    "Topology",
    "VostokError",
    "WrongDevice",
    "attention",
    "attention_backward",
    "bias_activation",
    "cache",
    "csr",
    "default_context",
    "depthwise_convolution",
    "im2col",
    "linear",
    "load_packed",
    "sddmm",
    "softmax",
    "softmax_backward",
    "spmm",
    "tools",
    "tuning",
]
