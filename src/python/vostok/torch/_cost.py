"""What a layer costs, dense and sparse, predicted from the device's peaks: which decides what sparsify_ replaces.

A roofline for each, with shares of the peaks that products of these kinds reach. Where nothing is known of the device
(the emulator) the figures are those of an H100.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

H100_GFLOPS = 66_900.0
H100_GB = 3_350.0
TENSOR_CORES_16_BIT = 14.8  # dense 16-bit peak by the float32 peak, Hopper
DENSE_SHARE = 0.75  # of the peaks, that dense products reach
PACKED_SHARE = 0.55  # of the tensor cores' peak, where packed values are expanded in front of them
FLOAT_SHARE = 0.3  # of the float32 peak, that sparse float32 products reach
BANDWIDTH_SHARE = 0.85
LAUNCH_US = 2.0


@dataclass(frozen=True)
class Cost:
    """Microseconds, and bytes of weights and indices."""

    us: float
    bytes: int


def _peaks(info: Any) -> tuple[float, float]:
    gflops = info.peak_fp32_gflops if info is not None and info.gpu and info.peak_fp32_gflops else H100_GFLOPS
    gigabytes = info.peak_bandwidth_gb if info is not None and info.gpu and info.peak_bandwidth_gb else H100_GB
    return gflops, gigabytes


def _us(flop: float, gflops: float, size: float, gigabytes: float) -> float:
    return LAUNCH_US + max(flop / (gflops * 1e3), size / (gigabytes * 1e3))


def dense_cost(info: Any, rows: int, cols: int, tokens: int, element_bytes: int) -> Cost:
    """Of nn.Linear: cuBLAS, float32 without TF32."""
    gflops, gigabytes = _peaks(info)
    rate = gflops * (TENSOR_CORES_16_BIT if element_bytes == 2 else 1.0) * DENSE_SHARE
    weights = rows * cols * element_bytes
    traffic = weights + tokens * (rows + cols) * element_bytes
    return Cost(_us(2.0 * rows * cols * tokens, rate, traffic, gigabytes * BANDWIDTH_SHARE), weights)


def sparse_cost(info: Any, rows: int, cols: int, nonzeros: int, tokens: int, element_bytes: int, frozen: bool) -> Cost:
    """Of SparseLinear: CSR with 2-byte column indices where they fit; or packed, a value and about 1.5 bits an
    element."""
    gflops, gigabytes = _peaks(info)
    index_bytes = 2 if cols <= 1 << 16 else 4
    held = nonzeros * (element_bytes + 4) + 4 * (rows + 1)
    read = nonzeros * (element_bytes + index_bytes) + 4 * (rows + 1)
    if frozen:
        held = read = nonzeros * element_bytes + rows * cols * 3 // 16
    if element_bytes == 2:
        flop, rate = 2.0 * rows * cols * tokens, gflops * TENSOR_CORES_16_BIT * PACKED_SHARE
        if not frozen:  # CSR is expanded or gathered: at most as fast as float32 products of the nonzeros, or that
            scalar = 2.0 * nonzeros * tokens / (gflops * FLOAT_SHARE)
            if scalar < flop / rate:
                flop, rate = 2.0 * nonzeros * tokens, gflops * FLOAT_SHARE
    else:
        flop, rate = 2.0 * nonzeros * tokens, gflops * FLOAT_SHARE
    traffic = read + tokens * (rows + cols) * element_bytes
    return Cost(_us(flop, rate, traffic, gigabytes * BANDWIDTH_SHARE), held)
