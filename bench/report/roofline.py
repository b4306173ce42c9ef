"""Times beside what the hardware allows: bytes that must move, and operations that must be done."""

from __future__ import annotations

from dataclasses import dataclass

from .problems import Problem

MEASURED_GPU = "H200"  # the one GPU whose ceilings are known


@dataclass(frozen=True)
class Ceilings:
    """Of an H200, measured: bytes and operations a microsecond."""

    memory: float = 4.3e6
    first_cache: float = 33e6
    tensor: float = 891e6
    sparse_tensor: float = 1722e6  # dense-equivalent, where zeros are skipped
    dense: float = 800e6  # what cuBLAS reaches in f16
    dense_strict: float = 49e6  # in f32 by multiply-adds
    launch_us: float = 3.0  # no kernel is shorter under graph replay than 2 to 3


CEILINGS = Ceilings()


def has_ceilings(problem: Problem) -> bool:
    return MEASURED_GPU in problem.result.gpu and problem.row["nonzeros"] > 0


def bytes_moved(problem: Problem) -> float:
    """Every operand once: the matrix as the kernel reads it, and both dense ones."""
    row = problem.row
    size = 4 if problem.result.element == "f32" else 2
    if problem.result.benchmark == "softmax":
        return 2 * size * row["nonzeros"]
    weights = (row["ours"].get("weights") or {}).get("bytes") or row["nonzeros"] * (size + 2)
    return weights + (row["m"] + row["k"]) * row["n"] * size


def memory_us(problem: Problem) -> float:
    return bytes_moved(problem) / CEILINGS.memory


def _products(problem: Problem) -> int:
    """How many products on tensor cores make one of the operands' type."""
    mode = problem.row["ours"].get("config", {}).get("mode", "")
    if mode:
        return 3 if mode.endswith("x3") else 1
    return 3 if problem.result.element == "f32" else 1


def compute_us(problem: Problem) -> float:
    """What the family's own way of computing needs: a dense product on tensor cores, or loads of B by every nonzero."""
    row = problem.row
    if problem.result.benchmark == "softmax":
        return 0
    dense = 2.0 * row["m"] * row["k"] * row["n"] * _products(problem)
    if problem.family.startswith("sparse_tensor"):
        return dense / CEILINGS.sparse_tensor
    if problem.family.startswith("unpack") or problem.family in ("wgmma_sample", "tensor_sample"):
        return dense / CEILINGS.tensor
    size = 4 if problem.result.element == "f32" else 2
    return row["nonzeros"] * row["n"] * size / CEILINGS.first_cache


def bound_us(problem: Problem) -> float | None:
    """What nothing of this family can be below; None where the GPU's ceilings are not known."""
    return max(memory_us(problem), compute_us(problem)) if has_ceilings(problem) else None


MOST_OVER = 2  # times the limit: more is an outlier


def operands_us(problem: Problem) -> float:
    """Of the bytes of all operands, the matrix in compressed rows with indices of 2 bytes."""
    row = problem.row
    size = 4 if problem.result.element == "f32" else 2
    return (row["nonzeros"] * (size + 2) + (row["m"] + row["k"]) * row["n"] * size) / CEILINGS.memory


def dense_us(problem: Problem) -> float:
    """Of the whole product by a dense library."""
    row = problem.row
    strict = problem.result.problem.get("math") == "strict"
    rate = CEILINGS.dense_strict if strict else CEILINGS.dense / (3 if problem.result.element == "f32" else 1)
    return 2.0 * row["m"] * row["k"] * row["n"] / rate


def over_limit(problem: Problem) -> float:
    """Its time over what another way would take: a launch, and bytes or the dense product, whichever is longer. That
    bound is in result files since they tell of it."""
    bound = problem.row["ours"].get("bound_us") or max(operands_us(problem), dense_us(problem))
    return problem.ours.us / (CEILINGS.launch_us + bound)


def is_outlier(problem: Problem) -> bool:
    return has_ceilings(problem) and over_limit(problem) > MOST_OVER
