"""Problems: what is to be computed, as values. Sizes, types, layouts and the epilogue; no arrays.

Fields are those of the C++ structures of the same names, with an epilogue's beside the others. Enumerators are given
by their names. `n`, `m` and `k` are sizes: C[m,n] = A[m,k] B[k,n], the sparse A always being [m,k].
"""

from __future__ import annotations

import ctypes
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Sequence, TypeVar

from . import _c
from . import _structures as s
from ._errors import InvalidType
from ._numbers import fill, integer

if TYPE_CHECKING:
    from . import _dense_plans as dense_plans  # noqa: F401
    from . import _plans as plans  # noqa: F401

P = TypeVar("P", covariant=True)

_ENUMERATIONS = {
    "element": "dtype",
    "output": "dtype",
    "index": "index_type",
    "dense_layout": "layout",
    "output_layout": "layout",
    "lhs_layout": "layout",
    "rhs_layout": "layout",
    "math": "math",
    "nonfinite": "non_finite",
    "value_lifetime": "value_lifetime",
    "bias": "bias",
    "bias_element": "dtype",
    "activation": "activation",
    "scale": "scale",
    "statistics": "row_statistics",
    "saved": "saved",
}


class Problem(Generic[P]):
    """What Context.plan takes; P is the class of its plans."""

    operation: ClassVar[str]  # as the C interface names it
    masked: ClassVar[bool] = True  # planned with a topology

    def _where(self) -> str:
        return f"plan {type(self).__name__}"

    def _values(self) -> dict[str, Any]:
        """Field by field as the C structure has them; where an enumerator stays at its default, it is left out."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Spmm(Problem["plans.SpmmPlan"]):
    """C[m,n] = A[m,k] B[k,n], or C[k,n] = A^T B[m,n]:
    output = activation(scale * product + bias + residual + (output where it accumulates)).

    n: columns of B and C. n_values: a plan for every n up to the largest; execute then takes n.
    batch: products that share the structure; values_per_batch: each has values of its own, [batch, nonzeros].
    element: f32, f16 or bf16, of the values and B. output: of C; None: the element type.
    Layouts: row_major or column_major, of B ([k,n] or stored as [n,k]) and C. Leading dimensions and strides count
    elements; 0: packed. alignment_bytes: of every address at execute, the element's size to 16.
    math: strict, accurate or tf32. value_lifetime: per_call, or persistent: values are packed once by plan.pack.
    bias: none, per_row ([m]) or per_column ([n]), of bias_element: f32 or the element type.
    scale: one, host (execute takes it) or device (an f32 in device memory).
    activation: none, relu, gelu, gelu_tanh or silu.
    """

    operation: ClassVar[str] = "spmm"

    n: int = 0
    n_values: tuple[int, ...] = ()
    batch: int = 1
    values_per_batch: bool = False
    element: str = "f32"
    output: str | None = None
    index: str = "automatic"
    sparse_transposed: bool = False
    dense_layout: str = "row_major"
    output_layout: str = "row_major"
    dense_leading: int = 0
    output_leading: int = 0
    value_stride: int = 0
    dense_stride: int = 0
    output_stride: int = 0
    alignment_bytes: int = 16
    math: str = "accurate"
    deterministic: bool = True
    nonfinite: str = "sparse"
    value_lifetime: str = "per_call"
    bias: str = "none"
    bias_element: str = "f32"
    residual: bool = False
    activation: str = "none"
    scale: str = "one"
    accumulate: bool = False


@dataclass(frozen=True)
class Sddmm(Problem["plans.SddmmPlan"]):
    """D[m,k] = scale * (A[m,n] B[k,n]^T) where the mask has elements (times C's values), plus D where it accumulates.

    n: inner size. lhs is A, rhs is B; column_major: stored as [n,m] and [n,k]. output: of D, f32 or the element type.
    multiply: by the values of C, of the element type, `multiplier_stride` elements from one of a batch to the next
    (0: one C for all).
    """

    operation: ClassVar[str] = "sddmm"

    n: int = 0
    batch: int = 1
    element: str = "f32"
    output: str | None = None
    index: str = "automatic"
    lhs_layout: str = "row_major"
    rhs_layout: str = "row_major"
    lhs_leading: int = 0
    rhs_leading: int = 0
    lhs_stride: int = 0
    rhs_stride: int = 0
    output_stride: int = 0
    multiplier_stride: int = 0
    alignment_bytes: int = 16
    math: str = "accurate"
    deterministic: bool = True
    nonfinite: str = "sparse"
    scale: str = "one"
    multiply: bool = False
    accumulate: bool = False


@dataclass(frozen=True)
class Softmax(Problem["plans.SoftmaxPlan"]):
    """y = exp(scale * x) / sum over the row, over the nonzeros [batch, nonzeros] of each row.

    statistics: none, write or read: the log-sum-exp of each scaled row, f32 [batch, m].
    """

    operation: ClassVar[str] = "softmax"

    batch: int = 1
    element: str = "f32"
    output: str | None = None
    alignment_bytes: int = 16
    value_stride: int = 0
    output_stride: int = 0
    deterministic: bool = True
    scale: str = "one"
    statistics: str = "none"


@dataclass(frozen=True)
class SoftmaxBackward(Problem["plans.SoftmaxBackwardPlan"]):
    """dx = scale * y * (dy - sum over the row of y * dy)."""

    operation: ClassVar[str] = "softmax_backward"

    batch: int = 1
    element: str = "f32"
    output: str | None = None
    alignment_bytes: int = 16
    probability_stride: int = 0
    output_gradient_stride: int = 0
    input_gradient_stride: int = 0
    deterministic: bool = True
    scale: str = "one"


def shares_heads(queries: Sequence[int], keys: Sequence[int]) -> bool:
    """Whether keys, of these leading axes, serve queries of those: as many heads, or a divisor, in the last axis."""
    if len(queries) != len(keys) or not len(keys) or queries[:-1] != keys[:-1]:
        return False
    return keys[-1] > 0 and queries[-1] % keys[-1] == 0


@dataclass(frozen=True)
class SparseAttention(Problem["plans.AttentionPlan"]):
    """softmax(scale Q K^T, at the mask) V: Q [batch, m, n], K [key_heads, k, n], V [key_heads, k, value_size].

    value_size 0: n. saved: what the backward pass will read: none, probabilities or row_statistics. heads_at_once:
    how many are computed at a time, a divisor of batch; 0: as many as have 128 MiB of probabilities, or one. key_heads:
    heads of keys and of values, a divisor of batch; each serves as many heads of queries that follow one another; 0:
    batch. capped: scores become softcap tanh(scores / softcap). causal: query i sees no key behind i + k - m. biased:
    each of the mask's elements has a bias, [batch, nonzeros]; bias_stride: elements between two heads' biases; 0: they
    share them. dropped: probabilities are dropped at random. These four by one kernel.
    """

    operation: ClassVar[str] = "attention"

    n: int = 0
    value_size: int = 0
    batch: int = 1
    element: str = "f32"
    index: str = "automatic"
    query_leading: int = 0
    key_leading: int = 0
    value_leading: int = 0
    output_leading: int = 0
    query_stride: int = 0
    key_stride: int = 0
    value_stride: int = 0
    output_stride: int = 0
    alignment_bytes: int = 16
    math: str = "accurate"
    deterministic: bool = True
    nonfinite: str = "sparse"
    saved: str = "none"
    heads_at_once: int = 0
    key_heads: int = 0
    capped: bool = False
    causal: bool = False
    biased: bool = False
    bias_stride: int = 0
    dropped: bool = False


@dataclass(frozen=True)
class SparseAttentionBackward(Problem["plans.AttentionBackwardPlan"]):
    """The gradients of SparseAttention by its inputs. forward: the problem whose gradient this is."""

    operation: ClassVar[str] = "attention_backward"

    forward: SparseAttention = SparseAttention()

    def _values(self) -> dict[str, Any]:
        return self.forward._values()


@dataclass(frozen=True)
class DepthwiseConvolution(Problem["dense_plans.DepthwisePlan"]):
    """Every channel of [batch, channels, height, width] with a filter [kernel, kernel] of its own; bias [channels] of
    bias_element, f32 or the element type.

    kernel: 3 or 5; stride: 1 or 2.
    """

    operation: ClassVar[str] = "depthwise"
    masked: ClassVar[bool] = False

    batch: int = 1
    channels: int = 0
    height: int = 0
    width: int = 0
    kernel: int = 3
    stride: int = 1
    padding_top: int = 0
    padding_bottom: int = 0
    padding_left: int = 0
    padding_right: int = 0
    element: str = "f32"
    alignment_bytes: int = 16
    bias: bool = False
    bias_element: str = "f32"
    activation: str = "none"


@dataclass(frozen=True)
class BiasActivation(Problem["dense_plans.BiasActivationPlan"]):
    """y = activation(x + bias) for dense [batch, rows, columns]; bias per_row or per_column, of
    bias_element, f32 or the element type."""

    operation: ClassVar[str] = "bias_activation"
    masked: ClassVar[bool] = False

    batch: int = 1
    rows: int = 0
    columns: int = 0
    element: str = "f32"
    alignment_bytes: int = 16
    bias: str = "per_row"
    bias_element: str = "f32"
    activation: str = "relu"


@dataclass(frozen=True)
class Im2col(Problem["dense_plans.Im2colPlan"]):
    """Patches of [batch, channels, height, width] as columns: [batch, channels * kernel_height * kernel_width,
    output height * output width]."""

    operation: ClassVar[str] = "im2col"
    masked: ClassVar[bool] = False

    batch: int = 1
    channels: int = 0
    height: int = 0
    width: int = 0
    kernel_height: int = 3
    kernel_width: int = 3
    stride: int = 1
    padding_top: int = 0
    padding_bottom: int = 0
    padding_left: int = 0
    padding_right: int = 0
    element: str = "f32"
    alignment_bytes: int = 16


def problem_structure(problem: Problem[Any]) -> ctypes.Structure:
    """The C structure of a problem. It owns the numbers that it points to."""
    if not isinstance(problem, Problem) or type(problem) is Problem:
        raise InvalidType(f"cannot plan {problem!r}: it is no problem such as vostok.Spmm")
    name = "attention" if isinstance(problem, SparseAttentionBackward) else problem.operation
    structure = s.STRUCTURES["vostok_" + name]()
    getattr(_c.library, f"vostok_{name}_init")(ctypes.byref(structure), ctypes.sizeof(structure))
    values = problem._values()
    _set_n_values(problem._where(), structure, values)
    if values.get("output", "") is None:
        del values["output"]
    enumerations = _ENUMERATIONS
    if problem.operation == "depthwise":
        enumerations = {name: kind for name, kind in _ENUMERATIONS.items() if name != "bias"}
    fill(problem._where(), structure, values, enumerations)
    return structure


def _set_n_values(where: str, structure: Any, values: dict[str, Any]) -> None:
    n_values = tuple(values.pop("n_values", ()))
    if n_values:
        array = (ctypes.c_int64 * len(n_values))(*(integer(where, "n_values", n) for n in n_values))
        structure.n_values = ctypes.addressof(array)
        structure.n_value_count = len(n_values)
        structure.owned = array  # as long as the structure
