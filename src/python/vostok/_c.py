"""The C interface by ctypes: constants, functions and the loaded library.

The library is the file that VOSTOK_LIBRARY names, else the one that lies in this package (lib/libvostok.so*). It is
loaded with RTLD_LOCAL, since other libraries of the process may hold other copies of what it is made of.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from . import _structures as s
from ._nvrtc import package_folders

ABI_VERSION = 0
STREAM_LEGACY = 1
STREAM_PER_THREAD = 2

# Names of each enumeration's values, from 0 up. tests/python/test_declarations.py compares them with the header.
ENUMERATIONS: dict[str, tuple[str, ...]] = {
    "dtype": ("f32", "f16", "bf16"),
    "index_type": ("automatic", "u16", "i32"),
    "layout": ("row_major", "column_major"),
    "bias": ("none", "per_row", "per_column"),
    "activation": ("none", "relu", "gelu", "gelu_tanh", "silu"),
    "scale": ("one", "host", "device"),
    "math": ("strict", "accurate", "tf32"),
    "non_finite": ("dense", "sparse"),
    "value_lifetime": ("per_call", "persistent"),
    "row_statistics": ("none", "write", "read"),
    "saved": ("none", "probabilities", "row_statistics"),
    "effort": ("heuristic", "cached", "quick", "full"),
    "policy": ("warm", "cold"),
    "provenance": ("tuned_here", "tuned_elsewhere", "shipped", "nearest_problem", "nearest_device", "heuristic"),
    "detail": ("choice", "trials"),
    "log_level": ("info", "warning"),
    "first_run": ("worker", "this_process"),
    "compile_policy": ("allow", "never"),
    "per": ("matrix", "row"),
    "keep": ("everything", "packing", "execution"),
    "operation": (
        "spmm",
        "sddmm",
        "softmax",
        "softmax_backward",
        "attention",
        "attention_backward",
        "depthwise",
        "bias_activation",
        "im2col",
    ),
}
DTYPE_DEFAULT = -1

STATUSES = (
    "ok",
    "invalid_argument",
    "invalid_topology",
    "unsupported",
    "misaligned_pointer",
    "wrong_device",
    "format_mismatch",
    "capture_active",
    "no_device",
    "no_compiler",
    "missing_kernel",
    "missing_choice",
    "compile_failed",
    "out_of_memory",
    "device_failure",
    "io_failure",
    "internal",
    "after_fork",
)

_P = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_void_p)
_TEXT = ctypes.c_char_p
_I32 = ctypes.c_int32
_I64 = ctypes.c_int64
_U64 = ctypes.c_uint64
_SIZE = ctypes.c_size_t
_F32 = ctypes.c_float
_STATUS = ctypes.c_int32
_POINTER = ctypes.POINTER

# Every function, without its prefix vostok_: result and parameters.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (_TEXT, []),
    "abi_version": (_I32, []),
    "last_error": (_TEXT, []),
    "status_name": (_TEXT, [_STATUS]),
    "enum_name": (_TEXT, [_TEXT, _I32]),
    "options_init": (None, [_POINTER(s.Options), _SIZE]),
    "context_create": (_STATUS, [_POINTER(s.Options), _OUT]),
    "context_retain": (_P, [_P]),
    "context_release": (None, [_P]),
    "context_device": (_STATUS, [_P, _POINTER(s.DeviceInfo)]),
    "context_counters": (_STATUS, [_P, _POINTER(s.Counters)]),
    "context_reload": (_STATUS, [_P]),
    "context_export_cache": (_STATUS, [_P, _OUT]),
    "context_import_cache": (_STATUS, [_P, _P, _SIZE]),
    "bytes_data": (_P, [_P]),
    "bytes_size": (_SIZE, [_P]),
    "bytes_release": (None, [_P]),
    "array_create": (_STATUS, [_P, _I64, _OUT]),
    "array_retain": (_P, [_P]),
    "array_release": (None, [_P]),
    "array_data": (_P, [_P]),
    "array_bytes": (_I64, [_P]),
    "copy_to_device": (_STATUS, [_P, _P, _P, _I64, _P]),
    "copy_to_host": (_STATUS, [_P, _P, _P, _I64, _P]),
    "csr_init": (None, [_POINTER(s.Csr), _SIZE]),
    "topology_create": (_STATUS, [_P, _POINTER(s.Csr), _P, _OUT]),
    "topology_retain": (_P, [_P]),
    "topology_release": (None, [_P]),
    "topology_statistics": (_STATUS, [_P, _POINTER(s.Statistics)]),
    "topology_device_bytes": (_STATUS, [_P, _POINTER(_I64)]),
    "topology_release_source": (_STATUS, [_P]),
    "topology_release_packing": (_STATUS, [_P]),
    "topology_read": (_STATUS, [_P, _P, _P, _I32, _P]),
    "spmm_init": (None, [_POINTER(s.Spmm), _SIZE]),
    "sddmm_init": (None, [_POINTER(s.Sddmm), _SIZE]),
    "softmax_init": (None, [_POINTER(s.Softmax), _SIZE]),
    "softmax_backward_init": (None, [_POINTER(s.SoftmaxBackward), _SIZE]),
    "attention_init": (None, [_POINTER(s.Attention), _SIZE]),
    "depthwise_init": (None, [_POINTER(s.Depthwise), _SIZE]),
    "bias_activation_init": (None, [_POINTER(s.BiasActivation), _SIZE]),
    "im2col_init": (None, [_POINTER(s.Im2col), _SIZE]),
    "spmm_arguments_init": (None, [_POINTER(s.SpmmArguments), _SIZE]),
    "sddmm_arguments_init": (None, [_POINTER(s.SddmmArguments), _SIZE]),
    "softmax_arguments_init": (None, [_POINTER(s.SoftmaxArguments), _SIZE]),
    "softmax_backward_arguments_init": (None, [_POINTER(s.SoftmaxBackwardArguments), _SIZE]),
    "attention_arguments_init": (None, [_POINTER(s.AttentionArguments), _SIZE]),
    "attention_backward_arguments_init": (None, [_POINTER(s.AttentionBackwardArguments), _SIZE]),
    "depthwise_arguments_init": (None, [_POINTER(s.DepthwiseArguments), _SIZE]),
    "bias_activation_arguments_init": (None, [_POINTER(s.BiasActivationArguments), _SIZE]),
    "im2col_arguments_init": (None, [_POINTER(s.Im2colArguments), _SIZE]),
    "plan_options_init": (None, [_POINTER(s.PlanOptions), _SIZE]),
    "plan_spmm": (_STATUS, [_P, _P, _POINTER(s.Spmm), _POINTER(s.PlanOptions), _OUT]),
    "plan_sddmm": (_STATUS, [_P, _P, _POINTER(s.Sddmm), _POINTER(s.PlanOptions), _OUT]),
    "plan_softmax": (_STATUS, [_P, _P, _POINTER(s.Softmax), _POINTER(s.PlanOptions), _OUT]),
    "plan_softmax_backward": (_STATUS, [_P, _P, _POINTER(s.SoftmaxBackward), _POINTER(s.PlanOptions), _OUT]),
    "plan_attention": (_STATUS, [_P, _P, _POINTER(s.Attention), _POINTER(s.PlanOptions), _OUT]),
    "plan_attention_backward": (_STATUS, [_P, _P, _POINTER(s.Attention), _POINTER(s.PlanOptions), _OUT]),
    "plan_depthwise": (_STATUS, [_P, _POINTER(s.Depthwise), _POINTER(s.PlanOptions), _OUT]),
    "plan_bias_activation": (_STATUS, [_P, _POINTER(s.BiasActivation), _POINTER(s.PlanOptions), _OUT]),
    "plan_im2col": (_STATUS, [_P, _POINTER(s.Im2col), _POINTER(s.PlanOptions), _OUT]),
    "prepare": (_STATUS, [_P, _POINTER(s.Preparation), _SIZE, _POINTER(s.PlanOptions), _POINTER(_I32), _OUT]),
    "plan_retain": (_P, [_P]),
    "plan_release": (None, [_P]),
    "plan_operation": (_I32, [_P]),
    "plan_workspace_bytes": (_I64, [_P]),
    "plan_saved_bytes": (_I64, [_P]),
    "plan_packed_bytes": (_I64, [_P]),
    "plan_packed_format": (_TEXT, [_P]),
    "plan_provenance": (_I32, [_P]),
    "plan_family": (_TEXT, [_P]),
    "plan_config": (_TEXT, [_P]),
    "plan_explain": (_TEXT, [_P, _I32]),
    "plan_rebind": (_STATUS, [_P, _P, _OUT]),
    "execute_spmm": (_STATUS, [_P, _P, _POINTER(s.SpmmArguments)]),
    "execute_sddmm": (_STATUS, [_P, _P, _POINTER(s.SddmmArguments)]),
    "execute_softmax": (_STATUS, [_P, _P, _POINTER(s.SoftmaxArguments)]),
    "execute_softmax_backward": (_STATUS, [_P, _P, _POINTER(s.SoftmaxBackwardArguments)]),
    "execute_attention": (_STATUS, [_P, _P, _POINTER(s.AttentionArguments)]),
    "execute_attention_backward": (_STATUS, [_P, _P, _POINTER(s.AttentionBackwardArguments)]),
    "execute_depthwise": (_STATUS, [_P, _P, _POINTER(s.DepthwiseArguments)]),
    "execute_bias_activation": (_STATUS, [_P, _P, _POINTER(s.BiasActivationArguments)]),
    "execute_im2col": (_STATUS, [_P, _P, _POINTER(s.Im2colArguments)]),
    "plan_pack": (_STATUS, [_P, _P, _P, _OUT]),
    "packed_memory_init": (None, [_POINTER(s.PackedMemory), _SIZE]),
    "load_options_init": (None, [_POINTER(s.LoadOptions), _SIZE]),
    "plan_pack_into": (_STATUS, [_P, _P, _P, _POINTER(s.PackedMemory), _OUT]),
    "packed_retain": (_P, [_P]),
    "packed_release": (None, [_P]),
    "packed_format": (_TEXT, [_P]),
    "packed_bytes": (_I64, [_P]),
    "packed_topology": (_STATUS, [_P, _OUT]),
    "packed_save": (_STATUS, [_P, _OUT]),
    "packed_save_head": (_STATUS, [_P, _OUT]),
    "packed_load_with": (_STATUS, [_P, _P, _SIZE, _POINTER(s.LoadOptions), _OUT]),
    "packed_adopt": (_STATUS, [_P, _P, _SIZE, _POINTER(s.PackedMemory), _POINTER(s.LoadOptions), _OUT]),
    "packed_load": (_STATUS, [_P, _P, _P, _SIZE, _OUT]),
    "dense_init": (None, [_POINTER(s.Dense), _SIZE]),
    "uniform_mask_init": (None, [_POINTER(s.UniformMask), _SIZE]),
    "block_mask_init": (None, [_POINTER(s.BlockMask), _SIZE]),
    "banded_mask_init": (None, [_POINTER(s.BandedMask), _SIZE]),
    "attention_mask_init": (None, [_POINTER(s.AttentionMask), _SIZE]),
    "sparse_above": (_STATUS, [_P, _POINTER(s.Dense), _F32, _P, _OUT, _OUT]),
    "sparse_largest": (_STATUS, [_P, _POINTER(s.Dense), _I64, _I32, _P, _OUT, _OUT]),
    "to_dense": (_STATUS, [_P, _P, _POINTER(s.Dense), _P]),
    "transpose": (_STATUS, [_P, _P, _OUT, _OUT]),
    "sort_columns": (_STATUS, [_P, _P, _OUT, _OUT]),
    "linear_indices": (_STATUS, [_P, _P, _I32, _P]),
    "make_uniform_mask": (_STATUS, [_P, _POINTER(s.UniformMask), _P, _OUT]),
    "make_block_mask": (_STATUS, [_P, _POINTER(s.BlockMask), _P, _OUT]),
    "make_banded_mask": (_STATUS, [_P, _POINTER(s.BandedMask), _P, _OUT]),
    "make_attention_mask": (_STATUS, [_P, _POINTER(s.AttentionMask), _P, _OUT]),
}


def _library_path() -> Path:
    named = os.environ.get("VOSTOK_LIBRARY")
    if named:
        return Path(named)
    folders = [folder / "lib" for folder in package_folders()]
    for folder in folders:
        for path in sorted(folder.glob("libvostok.so*"), key=lambda path: len(path.name)):
            return path
    searched = ", ".join(map(str, folders))
    raise ImportError(f"cannot load libvostok.so: it is in none of {searched}, and VOSTOK_LIBRARY names no other")


def _load(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        for name, (result, parameters) in FUNCTIONS.items():
            function = getattr(library, "vostok_" + name)
            function.restype = result
            function.argtypes = parameters
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot load {path}: {error}") from error
    if library.vostok_abi_version() != ABI_VERSION:
        found = library.vostok_abi_version()
        raise ImportError(
            f"cannot use {path}: its C interface is version {found}, and this package needs {ABI_VERSION}"
        )
    return library


LIBRARY_PATH = _library_path()
library = _load(LIBRARY_PATH)


def raw_execute(operation: str) -> Any:
    """vostok_execute_OPERATION of a plan's and a stream's address as ints, and the arguments as bytes."""
    function = ctypes.CDLL(str(LIBRARY_PATH), mode=os.RTLD_NOW | os.RTLD_LOCAL)[f"vostok_execute_{operation}"]
    function.restype = ctypes.c_int32
    function.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
    return function


def text(value: bytes | None) -> str:
    """What the library says, which is UTF-8 but for names of files that are not."""
    return (value or b"").decode("utf-8", "backslashreplace")


def version() -> str:
    """The library's version, e.g. "0.1.0"."""
    return text(library.vostok_version())
