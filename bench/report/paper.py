"""What the paper reports: T. Gale, M. Zaharia, C. Young, E. Elsen, "Sparse GPU Kernels for Deep Learning", SC20.

Only what was read there, in the repository that its authors published beside it (google-research, `sgk`), or in our own
pages stands here. Its GPU is a V100 with CUDA 10.1.
"""

from __future__ import annotations

from dataclasses import dataclass

TITLE = "Sparse GPU Kernels for Deep Learning (SC20)"
MACHINE = "one V100, CUDA 10.1"


@dataclass(frozen=True)
class Fact:
    place: str  # in the paper
    value: float


# Section II: 3,012 weight matrices of 49 models beside those of SuiteSparse
STUDIED_MATRICES = Fact("section II", 3012)
STUDIED_MODELS = Fact("section II", 49)
LESS_SPARSE = Fact("section II", 13.4)
LONGER_ROWS = Fact("section II", 2.3)
LESS_VARIATION = Fact("section II", 25)

# 8192 x 2048, 128 columns, f32
CROSSOVER_ZEROS = Fact("Fig. 1", 71)  # percent of zeros from which sparse is faster than dense

# Throughput with row swizzle, in percent of a balanced matrix's
SWIZZLE_KEEPS = Fact("Fig. 6", 96.5)

# Over the collection, f32, beside cuSPARSE
SPMM_OVER_CUSPARSE = Fact("Table I", 3.58)
SDDMM_OVER_CUSPARSE = Fact("Table I", 2.19)
SHARE_OF_PEAK = Fact("abstract", 27)  # percent of the GPU's f32 peak, at best

MODEL_SPEEDUP_LEAST = Fact("abstract", 1.2)
MODEL_SPEEDUP_MOST = Fact("abstract", 2.1)


@dataclass(frozen=True)
class Transformer:
    name: str
    bits_per_dimension: float
    tokens_s: float
    gigabytes: float


# 3 layers, 8 heads, hidden 1024, filter 4096, 12,288 tokens
TRANSFORMER_PLACE = "the sparse Transformer's results"
TRANSFORMERS = (
    Transformer("dense", 3.76, 32_477, 9.88),
    Transformer("sparse", 3.77, 67_857, 0.77),
)


@dataclass(frozen=True)
class MobileNet:
    width: float
    zeros: float  # percent, of the 1x1 convolutions
    accuracy: float  # percent, top-1
    frames_s: float


# Batch 1, 224 x 224
MOBILENET_PLACE = "the sparse MobileNetV1's results"
MOBILENETS = (
    MobileNet(1.0, 0, 72.7, 2518),
    MobileNet(1.2, 0, 73.8, 2046),
    MobileNet(1.4, 0, 74.8, 1729),
    MobileNet(1.3, 90, 72.9, 2874),
    MobileNet(1.4, 90, 73.3, 2706),
    MobileNet(1.5, 90, 73.8, 2537),
    MobileNet(1.6, 90, 74.1, 2366),
    MobileNet(1.7, 90, 74.4, 2226),
    MobileNet(1.8, 90, 74.9, 2095),
)
# Sparse and dense widths of about equal accuracy
MOBILENET_PAIRS = ((1.3, 1.0), (1.5, 1.2), (1.8, 1.4))


def mobilenet_ratio(wide: float, narrow: float) -> float:
    """Frames a second of the sparse network of one width over those of the dense one of another."""
    frames = {(model.width, bool(model.zeros)): model.frames_s for model in MOBILENETS}
    return frames[wide, True] / frames[narrow, False]
