"""SparseLinear and FrozenSparseLinear."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn

from .._errors import InvalidArgument, InvalidType
from . import _linear, _packed, _state
from ._csr import Csr, as_static, csr, dense
from ._entries import Known
from ._functional import activation_name
from ._lookup import LOOKUP
from ._registry import is_unobserved

MaybeTensor = torch.Tensor | None
is_compiling = torch.compiler.is_compiling


class SparseLinear(nn.Module):
    """y = activation(x W^T + bias) with a sparse W [out, in]. Parameters: values [nonzeros], bias [out] or None;
    buffers: row_offsets and column_indices, int32. x [tokens.., in] has the values' element type, unless autocast is
    on.

    state_dict holds these four; load_state_dict takes a dense `weight`, or `weight_orig` and `weight_mask` of
    torch.nn.utils.prune, as well, and masks with another number of nonzeros.
    """

    values: nn.Parameter
    bias: nn.Parameter | None
    row_offsets: torch.Tensor
    column_indices: torch.Tensor

    def __init__(
        self, weight: Csr, bias: MaybeTensor = None, *, activation: str | None = None, math: str = "accurate"
    ) -> None:
        super().__init__()
        weight = csr(weight)
        if weight.values.dim() != 1:
            raise InvalidArgument(f"cannot make a SparseLinear: values have shape {tuple(weight.values.shape)}")
        self._told_of_weight = False
        self._known = Known()
        self.out_features, self.in_features = weight.shape
        self.activation = activation_name(activation)
        self.math = math
        self.values = as_parameter(weight.values)
        self.register_parameter("bias", None if bias is None else as_parameter(bias))
        _state.set_structure(self, weight.row_offsets, weight.column_indices)
        self.register_load_state_dict_pre_hook(_state.before_load)
        self.register_load_state_dict_post_hook(_state.after_load)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [tokens.., in] -> [tokens.., out]."""
        parameters: dict[str, Any] = self._parameters
        buffers: dict[str, Any] = self._buffers
        values, bias = parameters["values"], parameters["bias"]
        arguments = (
            x,
            values,
            buffers["row_offsets"],
            buffers["column_indices"],
            self.out_features,
            self.in_features,
            bias,
            None,
            False,
            self.activation,
            self.math,
        )
        if not is_compiling() and is_unobserved(x, values, bias):
            return _linear.linear(*arguments, self._known)
        return _linear.OP(*arguments)

    @property
    def nonzeros(self) -> int:
        """How many there are."""
        return self.values.shape[0]

    @property
    def sparsity(self) -> float:
        """The share of zeros."""
        return 1.0 - self.nonzeros / max(self.in_features * self.out_features, 1)

    @property
    def weight(self) -> torch.Tensor:
        """The dense weight [out, in], made at every read: for code that looks at a linear layer's weight.
        Differentiable."""
        if not self._told_of_weight:
            self._told_of_weight = True
            warnings.warn(
                "SparseLinear.weight makes the dense matrix at every read: use values, row_offsets and column_indices",
                stacklevel=2,
            )
        return dense(self.csr())

    def csr(self) -> Csr:
        """The weight; its values are the parameter."""
        return Csr(self.values, self.row_offsets, self.column_indices, (self.out_features, self.in_features))

    @classmethod
    def from_dense(
        cls,
        linear: nn.Linear | torch.Tensor,
        *,
        mask: MaybeTensor = None,
        threshold: float = 0.0,
        activation: str | None = None,
        math: str = "accurate",
    ) -> SparseLinear:
        """Of a dense layer or weight [out, in]: the elements where `mask` is true, else those above the threshold. Of a
        layer that torch.nn.utils.prune holds, those of its mask, with values of weight_orig."""
        weight: Any
        bias: Any
        if isinstance(linear, torch.Tensor):
            weight, bias = linear, None
        else:
            if not isinstance(linear, nn.Module) or not hasattr(linear, "weight"):
                raise InvalidType(f"cannot make a SparseLinear: linear is {type(linear).__name__}, and has no weight")
            bias = getattr(linear, "bias", None)
            weight = linear.weight
            if hasattr(linear, "weight_orig") and hasattr(linear, "weight_mask"):
                weight = linear.weight_orig
                held: Any = linear.weight_mask
                mask = held if mask is None else mask
        made = cls(
            csr(weight.detach(), mask=mask, threshold=threshold),
            None if bias is None else bias.detach().clone(),
            activation=activation,
            math=math,
        )
        trains = getattr(weight, "requires_grad", True) or not isinstance(weight, nn.Parameter)
        made.values.requires_grad_(trains)
        if made.bias is not None and bias is not None:
            made.bias.requires_grad_(bias.requires_grad)
        return made.train(linear.training) if isinstance(linear, nn.Module) else made

    def to_dense(self) -> nn.Linear:
        """The nn.Linear of the same values. Errors: InvalidArgument where an activation is fused, which it has not."""
        if self.activation != "none":
            raise InvalidArgument(f"cannot make a dense layer: nn.Linear has no activation {self.activation!r}")
        made = nn.Linear(
            self.in_features, self.out_features, self.bias is not None, device="meta", dtype=self.values.dtype
        )
        with torch.no_grad():
            made.weight = nn.Parameter(dense(self.csr()).detach(), requires_grad=self.values.requires_grad)
            if self.bias is not None:
                made.bias = nn.Parameter(self.bias.detach().clone(), requires_grad=self.bias.requires_grad)
        return made.train(self.training)

    @torch.no_grad()
    def set_mask(
        self, row_offsets: torch.Tensor, column_indices: torch.Tensor, values: MaybeTensor = None
    ) -> torch.Tensor:
        """Another structure: the index tensors become new buffers. Without `values`, those that both masks have are
        carried over and new ones are 0. `values` stays the same Parameter. Returns for each new nonzero where it was
        before, -1 where it is new: what optimizer state is moved by (RigL does)."""
        offsets = row_offsets.to(self.values.device, torch.int32, copy=True)
        columns = column_indices.to(self.values.device, torch.int32, copy=True)
        places = _state.places_before(self.csr(), offsets, columns)
        if values is None:
            values = torch.where(places >= 0, self.values[places.clamp(min=0)], 0) if self.nonzeros else None
        if values is None:
            values = self.values.new_zeros(columns.shape[0])
        if values.shape != columns.shape:
            raise InvalidArgument(
                f"cannot set the mask: values has shape {tuple(values.shape)}, and column_indices "
                f"{tuple(columns.shape)}"
            )
        _state.set_structure(self, offsets, columns)
        _state.set_values(self, values)
        return places

    def freeze(
        self,
        max_tokens: int,
        few_tokens: int | None = None,
        *,
        keep_values: bool = False,
        policy: str | None = None,
    ) -> FrozenSparseLinear:
        """For inference: values packed for up to `max_tokens` tokens at a time (more go in parts).

        few_tokens: they are packed a second time, for calls of at most so many tokens, which have faster formats of
        their own: twice the memory. keep_values: the frozen layer keeps this one as `source`, so that it can be thawed.
        policy: "cold" where other work of the GPU evicts the weights from its last-level cache between two calls,
        "warm" where they stay there; default: by the layer's own size. It stays with the packed bytes.

        Errors: InvalidArgument for another policy, for less than one token, and for few_tokens that are not less than
        max_tokens.
        """
        return FrozenSparseLinear.of(self, max_tokens, few_tokens, keep_values, policy)

    def extra_repr(self) -> str:
        """As printed."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, nonzeros={self.nonzeros}, "
            f"sparsity={self.sparsity:.3f}, bias={self.bias is not None}"
            + (f", activation={self.activation}" if self.activation != "none" else "")
        )


def as_parameter(tensor: torch.Tensor) -> nn.Parameter:
    """The tensor as a parameter; one that is a parameter stays itself."""
    return tensor if isinstance(tensor, nn.Parameter) else nn.Parameter(tensor.detach())


def check_counts(max_tokens: int, few_tokens: int | None) -> None:
    """The numbers of tokens that a layer may be packed for."""
    if max_tokens < 1:
        raise InvalidArgument(f"cannot freeze: max_tokens is {max_tokens}, and must be at least 1")
    if few_tokens is not None and not 1 <= few_tokens < max_tokens:
        raise InvalidArgument(
            f"cannot freeze: few_tokens is {few_tokens}, and must be at least 1 and less than max_tokens, {max_tokens}"
        )


class FrozenSparseLinear(nn.Module):
    """A SparseLinear whose values are packed, for inference. Buffers, uint8 [bytes]: packed, the values in device
    memory, and head, which stays in host memory: structure, version and a digest of everything. packed_few and head_few
    are the same for few tokens, or None. Conversions of the module's element type leave all as they are."""

    packed: torch.Tensor
    head: torch.Tensor
    packed_few: MaybeTensor
    head_few: MaybeTensor
    bias: nn.Parameter | None

    def __init__(
        self,
        packed: torch.Tensor,
        head: torch.Tensor,
        out_features: int,
        in_features: int,
        bias: MaybeTensor = None,
        *,
        activation: str | None = None,
        packed_few: MaybeTensor = None,
        head_few: MaybeTensor = None,
    ) -> None:
        super().__init__()
        if (packed_few is None) != (head_few is None):
            raise InvalidArgument("cannot make a FrozenSparseLinear: packed_few and head_few must be given together")
        self.out_features = out_features
        self.in_features = in_features
        self.activation = activation_name(activation)
        for names, tensors in zip(_state.FORMATS, ((packed, head), (packed_few, head_few))):
            for name, tensor in zip(names, tensors):
                held = tensor.cpu() if name in _state.HEADS and tensor is not None else tensor
                self.register_buffer(name, None if held is None else as_static(held))
        self.register_parameter("bias", None if bias is None else nn.Parameter(bias.detach(), requires_grad=False))
        self.source: SparseLinear | None = None
        self.register_load_state_dict_pre_hook(_state.before_packed_load)
        self.register_load_state_dict_post_hook(_state.after_load)

    @classmethod
    def of(
        cls,
        layer: SparseLinear,
        max_tokens: int,
        few_tokens: int | None = None,
        keep_values: bool = False,
        policy: str | None = None,
    ) -> FrozenSparseLinear:
        """What SparseLinear.freeze makes."""
        check_counts(max_tokens, few_tokens)
        a = layer.csr()
        structure = (a.row_offsets, a.column_indices, *a.shape)

        def pack(tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
            with torch.no_grad():
                return _packed.PACK(a.values.detach(), *structure, int(tokens), layer.math, policy or "")

        packed, head = pack(max_tokens)
        few = (None, None) if few_tokens is None else pack(few_tokens)
        made = cls(
            packed,
            head,
            *a.shape,
            layer.bias,
            activation=layer.activation,
            packed_few=few[0],
            head_few=few[1],
        )
        if keep_values:
            made.source = layer
        else:
            LOOKUP.forget(a.row_offsets, a.column_indices, *a.shape)
        return made.train(layer.training)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [tokens.., in] -> [tokens.., out]."""
        buffers: dict[str, Any] = self._buffers
        packed, bias = buffers["packed"], self._parameters["bias"]
        arguments = (
            x,
            packed,
            buffers["head"],
            self.out_features,
            self.in_features,
            bias,
            None,
            self.activation,
            buffers["packed_few"],
            buffers["head_few"],
        )
        if not is_compiling() and is_unobserved(x, packed, bias):
            return _packed.linear_packed(*arguments)
        return _packed.LINEAR_PACKED(*arguments)

    @property
    def formats(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """(packed, head) for all numbers of tokens, and, where there is one, for few."""
        pairs = [tuple(self._buffers[name] for name in names) for names in _state.FORMATS]
        return [(packed, head) for packed, head in pairs if packed is not None and head is not None]

    @property
    def weight(self) -> torch.Tensor:
        """What code learns a linear layer's element type, device and shape from, as transformers' T5 does. Its elements
        are NaN and take no memory: packed values are not read one by one."""
        nan = torch.full((), float("nan"), dtype=_packed.packed_dtype(self.head), device=self.packed.device)
        return nan.expand(self.out_features, self.in_features)

    def _apply(self, function: Any, recurse: bool = True) -> FrozenSparseLinear:
        """What to(), cuda() and their like do, but to the heads, which no kernel reads."""
        heads = {name: self._buffers.pop(name) for name in _state.HEADS}
        try:
            super()._apply(function, recurse)
        finally:
            self._buffers.update(heads)
        return self

    def extra_repr(self) -> str:
        """As printed."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bytes={self.packed.nbytes}, "
            + (f"bytes_few={self.packed_few.nbytes}, " if self.packed_few is not None else "")
            + f"bias={self.bias is not None}"
        )
