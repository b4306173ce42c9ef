"""The structures of <vostok/vostok.h>, field by field.

tests/python/test_declarations.py compares them with the header. What a field means is documented there.
"""

from __future__ import annotations

import ctypes

AllocateFunction = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
ReleaseFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
LogFunction = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)
ProgressFunction = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
StopFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)

_KINDS: dict[str, type] = {
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "text": ctypes.c_char_p,
    "pointer": ctypes.c_void_p,
    "allocate_function": AllocateFunction,
    "release_function": ReleaseFunction,
    "log_function": LogFunction,
    "progress_function": ProgressFunction,
    "stop_function": StopFunction,
}

STRUCTURES: dict[str, type[ctypes.Structure]] = {}


def _structure(name: str, text: str) -> type[ctypes.Structure]:
    """A ctypes structure from lines of a kind and the names of the fields that have it."""
    fields: list[tuple[str, type]] = []
    kind = ctypes.c_int32
    for word in text.split():
        if word in _KINDS:
            kind = _KINDS[word]  # type: ignore[assignment]
        else:
            fields.append((word, kind))
    STRUCTURES[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return STRUCTURES[name]


Options = _structure(
    "vostok_options",
    """
    u32 size
    i32 allow_emulator
    text device
    pointer cuda_context
    allocate_function allocate
    release_function release
    pointer allocator_user
    i64 max_workspace_bytes
    i32 cache_enabled cache_environment
    text cache_folder
    pointer read_only
    i64 read_only_count
    i32 allow_network_folder lock_timeout_ms
    text shipped
    i64 max_code_bytes
    pointer trusted_keys
    i64 trusted_key_count
    i32 compile check_shipped cache_only compile_threads
    text nvrtc
    log_function log
    pointer log_user
    i32 first_run reserved
    text worker_tool
    f64 worker_timeout_seconds
""",
)

DeviceInfo = _structure(
    "vostok_device_info",
    """
    u32 size
    i32 gpu multiprocessors clock_mhz memory_clock_mhz reserved
    i64 memory_bytes l2_bytes
    f64 peak_fp32_gflops peak_bandwidth_gb
    text name uuid architecture driver
""",
)

Counters = _structure(
    "vostok_counters",
    """
    u32 size
    i32 reserved
    i64 kernels_compiled compile_us code_hits tuning_hits tuning_misses invalid_rows cache_warnings memo_hits
        trials_measured
""",
)

Csr = _structure(
    "vostok_csr",
    """
    u32 size
    i32 row_offset_bytes column_index_bytes reserved
    i64 rows cols
    pointer row_offsets column_indices
    i64 nonzeros
""",
)

Statistics = _structure(
    "vostok_statistics",
    """
    u32 size
    i32 sorted duplicates reserved
    i64 rows cols nonzeros longest_row empty_rows
    f64 mean_row row_variation run_share span_share
""",
)

Spmm = _structure(
    "vostok_spmm",
    """
    u32 size
    i32 element
    i64 n
    pointer n_values
    i64 n_value_count batch
    i32 values_per_batch output index sparse_transposed dense_layout output_layout
    i64 dense_leading output_leading value_stride dense_stride output_stride
    i32 alignment_bytes math deterministic nonfinite value_lifetime bias residual activation scale accumulate
        bias_element reserved
""",
)

SpmmArguments = _structure(
    "vostok_spmm_arguments",
    """
    u32 size
    f32 scale
    pointer values packed dense output bias residual device_scale workspace
    i64 n
""",
)

Sddmm = _structure(
    "vostok_sddmm",
    """
    u32 size
    i32 element
    i64 n batch
    i32 output index lhs_layout rhs_layout
    i64 lhs_leading rhs_leading lhs_stride rhs_stride output_stride multiplier_stride
    i32 alignment_bytes math deterministic nonfinite scale multiply accumulate reserved
""",
)

SddmmArguments = _structure(
    "vostok_sddmm_arguments",
    """
    u32 size
    f32 scale
    pointer lhs rhs output multiplier device_scale workspace
""",
)

Softmax = _structure(
    "vostok_softmax",
    """
    u32 size
    i32 element
    i64 batch
    i32 output alignment_bytes
    i64 value_stride output_stride
    i32 deterministic scale statistics reserved
""",
)

SoftmaxArguments = _structure(
    "vostok_softmax_arguments",
    """
    u32 size
    f32 scale
    pointer values output row_statistics device_scale workspace
""",
)

SoftmaxBackward = _structure(
    "vostok_softmax_backward",
    """
    u32 size
    i32 element
    i64 batch
    i32 output alignment_bytes
    i64 probability_stride output_gradient_stride input_gradient_stride
    i32 deterministic scale
""",
)

SoftmaxBackwardArguments = _structure(
    "vostok_softmax_backward_arguments",
    """
    u32 size
    f32 scale
    pointer probabilities output_gradient input_gradient device_scale workspace
""",
)

Attention = _structure(
    "vostok_attention",
    """
    u32 size
    i32 element
    i64 n value_size batch query_leading key_leading value_leading output_leading query_stride key_stride
        value_stride output_stride
    i32 index alignment_bytes math deterministic nonfinite saved
    i64 heads_at_once key_heads
    i32 capped causal biased dropped i64 bias_stride
""",
)

AttentionArguments = _structure(
    "vostok_attention_arguments",
    """
    u32 size
    f32 scale
    pointer query key value output saved workspace
    f32 softcap dropout pointer bias dropout_state
""",
)

AttentionBackwardArguments = _structure(
    "vostok_attention_backward_arguments",
    """
    u32 size
    f32 scale
    pointer query key value output_gradient saved query_gradient key_gradient value_gradient workspace
    f32 softcap dropout
    pointer output bias bias_gradient dropout_state
""",
)

Depthwise = _structure(
    "vostok_depthwise",
    """
    u32 size
    i32 element
    i64 batch channels height width
    i32 kernel stride
    i64 padding_top padding_bottom padding_left padding_right
    i32 alignment_bytes bias activation bias_element
""",
)

DepthwiseArguments = _structure(
    "vostok_depthwise_arguments",
    """
    u32 size
    i32 reserved
    pointer input filters bias output workspace
""",
)

BiasActivation = _structure(
    "vostok_bias_activation",
    """
    u32 size
    i32 element
    i64 batch rows columns
    i32 alignment_bytes bias activation bias_element
""",
)

BiasActivationArguments = _structure(
    "vostok_bias_activation_arguments",
    """
    u32 size
    i32 reserved
    pointer input bias output workspace
""",
)

Im2col = _structure(
    "vostok_im2col",
    """
    u32 size
    i32 element
    i64 batch channels height width
    i32 kernel_height kernel_width stride alignment_bytes
    i64 padding_top padding_bottom padding_left padding_right
""",
)

Im2colArguments = _structure(
    "vostok_im2col_arguments",
    """
    u32 size
    i32 reserved
    pointer input output workspace
""",
)

PlanOptions = _structure(
    "vostok_plan_options",
    """
    u32 size
    i32 effort
    pointer stream
    f64 budget_seconds
    u64 seed
    text family
    i32 policy overlap_calls
    progress_function progress
    pointer progress_user
    stop_function stop
    pointer stop_user
    text packed_format
""",
)

Preparation = _structure(
    "vostok_preparation",
    """
    u32 size
    i32 operation
    pointer problem topology
""",
)

PackedMemory = _structure(
    "vostok_packed_memory",
    """
    u32 size
    i32 reserved
    pointer data
    i64 bytes
    release_function release
    pointer user
""",
)

LoadOptions = _structure(
    "vostok_load_options",
    """
    u32 size
    i32 keep
    pointer topology stream
""",
)

Dense = _structure(
    "vostok_dense",
    """
    u32 size
    i32 element
    pointer data
    i64 rows cols leading
""",
)

UniformMask = _structure(
    "vostok_uniform_mask",
    """
    u32 size
    i32 reserved
    i64 rows cols
    f64 sparsity
    u64 seed
""",
)

BlockMask = _structure(
    "vostok_block_mask",
    """
    u32 size
    i32 reserved
    i64 rows cols block_size
    f64 sparsity
    u64 seed
""",
)

BandedMask = _structure(
    "vostok_banded_mask",
    """
    u32 size
    i32 causal
    i64 rows cols width
""",
)

AttentionMask = _structure(
    "vostok_attention_mask",
    """
    u32 size
    i32 causal
    i64 rows cols width
    f64 sparsity
    u64 seed
""",
)
