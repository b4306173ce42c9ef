"""sparsify_: replaces the pruned linear layers of a model."""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable

import torch
from torch import nn

from .._errors import InvalidArgument
from .._planning import ProgressLine
from ._cost import dense_cost, sparse_cost
from ._devices import ELEMENTS, current_context
from ._freezing import Freezing
from ._modules import FrozenSparseLinear, SparseLinear
from ._report import Report, Row

Filter = Callable[[str, nn.Module], bool] | None


def sparsify_(
    model: nn.Module,
    *,
    tokens: int = 16,
    min_speedup: float = 1.0,
    min_sparsity: float = 0.0,
    filter: Filter = None,
    freeze: bool = False,
    max_tokens: int | None = None,
    few_tokens: int | None = None,
    progress: bool = True,
) -> Report:
    """Replaces linear layers that are predicted to be faster sparse, in place; returns a row for each linear layer.

    Zeros of the weights are what is left out: prune first (torch.nn.utils.prune is understood). A layer is replaced
    where dense time by sparse time, predicted for `tokens` tokens, is at least `min_speedup` (0: wherever possible) and
    its sparsity at least `min_sparsity`. filter(name, module): False leaves a layer alone. freeze: packed for
    inference, for up to `max_tokens` tokens at a time (default: `tokens`) and a second time for up to `few_tokens`
    (SparseLinear.freeze), under the policy "cold" where the model, as it came, takes more than half of the last-level
    cache (freeze_ has more on this).

    Left dense, with the reason in its row: weights that other code reads (tied weights, MultiheadAttention),
    parametrised, quantised and LoRA layers, subclasses of nn.Linear that are not known, element types without kernels.
    """
    if isinstance(model, (nn.Linear, SparseLinear)):
        raise InvalidArgument("cannot sparsify a single layer in place: use SparseLinear.from_dense(layer)")
    chooser = _Chooser(model, tokens, min_speedup, min_sparsity, freeze, max_tokens or tokens, few_tokens)
    names = chooser.candidates(filter)
    bar = ProgressLine(len(names)) if progress and len(names) > 8 else None
    report = Report()
    with _Replacing(chooser) as replacing:
        for name in names:
            row = replacing.replace(name)
            if row is not None:
                report.rows.append(row)
            if bar is not None:
                bar.finish(name)
    return report


class _Replacing:
    """Replaces layer after layer; those that are frozen go in when they are ready."""

    def __init__(self, chooser: _Chooser) -> None:
        self.chooser = chooser
        self.freezing = Freezing(chooser.modules[""], chooser.max_tokens, chooser.few_tokens)
        first: dict[int, str] = {}
        self.keys = {name: first.setdefault(id(module), name) for name, module in chooser.modules.items()}
        self.names: dict[str, list[str]] = {}  # of layers that become sparse, by their first name
        self.made: dict[str, nn.Module] = {}

    def __enter__(self) -> _Replacing:
        self.freezing.__enter__()
        return self

    def __exit__(self, *what: Any) -> None:
        self.freezing.__exit__(*what)

    def replace(self, name: str) -> Row | None:
        """The layer's row; None where its module had one under another name."""
        key = self.keys[name]
        if key in self.names:
            self.names[key].append(name)
            if key in self.made:
                _replace(self.chooser, name, self.made[key])
            return None
        row, layer = self.chooser.choose(name, self.chooser.modules[name])
        if layer is not None:
            self.names[key] = [name]
            if self.chooser.freeze:
                self.freezing.add(layer, lambda frozen: self.put(key, frozen, row))
            else:
                self.put(key, layer, row)
        return row

    def put(self, key: str, layer: nn.Module, row: Row) -> None:
        """Puts a layer where the dense one was, which goes."""
        if isinstance(layer, FrozenSparseLinear):
            row.bytes_after = sum(packed.nbytes for packed, _ in layer.formats)
        self.made[key] = layer
        for name in self.names[key]:
            _replace(self.chooser, name, layer)


def _replace(chooser: _Chooser, name: str, replacement: nn.Module) -> None:
    path, _, last = name.rpartition(".")
    parent = chooser.modules[path]
    setattr(parent, last, replacement)
    chooser.modules[name] = replacement
    if isinstance(parent, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
        parent.activation_relu_or_gelu = 0  # the fast path reads linear1.weight: forward() must not take it
    for container in chooser.modules.values():
        if isinstance(container, nn.TransformerEncoder) and any(parent is layer for layer in container.layers):
            container.use_nested_tensor = False


class _Chooser:
    def __init__(
        self,
        model: nn.Module,
        tokens: int,
        min_speedup: float,
        min_sparsity: float,
        freeze: bool,
        max_tokens: int,
        few_tokens: int | None,
    ) -> None:
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.tokens = tokens
        self.min_speedup = min_speedup
        self.min_sparsity = min_sparsity
        self.freeze = freeze
        self.max_tokens = max_tokens
        self.few_tokens = few_tokens
        unique = {id(module): module for module in self.modules.values()}.values()
        self.uses = Counter(
            id(value) for module in unique for value in module._parameters.values() if value is not None
        )
        self.owners: dict[int, list[str]] = {}
        for name, module in self.modules.items():
            for value in module._parameters.values():
                if value is not None:
                    self.owners.setdefault(id(value), []).append(name)

    def candidates(self, filter: Filter) -> list[str]:
        return [
            name
            for name, module in self.modules.items()
            if name
            and (is_linear(module) or isinstance(module, nn.MultiheadAttention))
            and (filter is None or filter(name, module))
        ]

    def choose(self, name: str, layer: Any) -> tuple[Row, SparseLinear | None]:
        """The layer's row, and what takes its place."""
        kind = type(layer).__name__
        reason = self.reason(name, layer)
        if reason:
            return Row(name, kind, reason=reason), None
        weight, mask, bias = operands_of(layer)
        rows, cols = weight.shape
        nonzeros = int((weight != 0).sum() if mask is None else (mask != 0).sum())
        size = weight.element_size()
        info = current_context(weight.device).device
        before = dense_cost(info, rows, cols, self.tokens, size)
        after = sparse_cost(info, rows, cols, nonzeros, self.tokens, size, self.freeze)
        row = Row(name, kind, (rows, cols), 1.0 - nonzeros / max(rows * cols, 1), before.bytes, before.bytes)
        row.dense_us, row.sparse_us = before.us, after.us
        if row.sparsity < self.min_sparsity:
            row.reason = f"sparsity is below {self.min_sparsity}"
        elif before.us < self.min_speedup * after.us:
            row.reason = "predicted to be faster dense"
        if row.reason:
            return row, None
        made = self.make(layer, weight, mask, bias)
        row.sparse = True
        row.bytes_after = after.bytes
        return row, made

    def make(
        self, layer: Any, weight: torch.Tensor, mask: torch.Tensor | None, bias: torch.Tensor | None
    ) -> SparseLinear:
        """The sparse layer. Its forward and backward hooks stay with the dense one, which is why reason() asks."""
        made = SparseLinear.from_dense(weight.detach(), mask=mask)
        made.values.requires_grad_(next(layer.parameters()).requires_grad)
        if bias is not None:
            made.bias = nn.Parameter(bias.detach().clone(), requires_grad=bias.requires_grad)
        made.train(layer.training)
        return made

    def reason(self, name: str, layer: Any) -> str:
        """Why the layer stays dense; "" where nothing speaks against it."""
        parents = [self.modules[name[:end]] for end in _ends(name)]
        if isinstance(layer, nn.MultiheadAttention):
            return "its projections are one parameter that it multiplies by itself"
        if any(isinstance(parent, nn.MultiheadAttention) for parent in parents):
            return "MultiheadAttention reads its weight"
        if any(_is_lora(parent) for parent in [layer, *parents]):
            return "a LoRA layer reads its weight when it is merged: merge and unload first"
        if nn.utils.parametrize.is_parametrized(layer):
            return "its weight is parametrised: torch.nn.utils.parametrize.remove_parametrizations first"
        if hasattr(layer, "weight_u"):
            return "its weight is made by spectral_norm: torch.nn.utils.remove_spectral_norm first"
        if hasattr(layer, "weight_g") or hasattr(layer, "weight_v"):
            return "its weight is made by weight_norm: torch.nn.utils.remove_weight_norm first"
        if _is_quantised(layer):
            return f"its weight is quantised ({type(layer).__module__}.{type(layer).__name__})"
        if type(layer) is not nn.Linear and not is_conv1d(layer):
            return f"{type(layer).__name__} is a subclass of nn.Linear, whose forward is not known"
        return self._reason_of_weight(layer)

    def _reason_of_weight(self, layer: Any) -> str:
        parameter = getattr(layer, "weight_orig", None)
        parameter = layer.weight if parameter is None else parameter
        if type(parameter) is not nn.Parameter or type(parameter.data) is not torch.Tensor:
            return f"its weight is a {type(parameter).__name__}, and no plain tensor"
        if self.uses[id(parameter)] > 1:
            return f"its weight is shared: {', '.join(self.owners[id(parameter)])}"
        if parameter.dtype not in ELEMENTS:
            return f"there are no kernels for {parameter.dtype}"
        if parameter.is_meta:
            return "its weight is on the meta device"
        hooks = [hook for hook in layer._forward_pre_hooks.values() if not hasattr(hook, "apply_mask")]
        if hooks or layer._forward_hooks or layer._backward_hooks or layer._backward_pre_hooks:
            return "it has hooks, which would be lost"
        return ""


def _ends(name: str) -> list[int]:
    return [0] + [i for i, letter in enumerate(name) if letter == "."]


def is_conv1d(module: nn.Module) -> bool:
    """transformers' Conv1D of GPT-2: a linear layer whose weight is [in, out]."""
    kind = type(module)
    return kind.__name__ == "Conv1D" and kind.__module__.startswith("transformers.") and hasattr(module, "nf")


def _is_quantised(module: Any) -> bool:
    kind = type(module)
    known = ("torch.ao.nn.", "bitsandbytes.", "torchao.", "awq.", "auto_gptq.", "gptqmodel.")
    named = kind.__module__.startswith(known) or any(
        word in kind.__name__.lower() for word in ("quant", "8bit", "4bit")
    )
    return (named and kind is not nn.modules.linear.NonDynamicallyQuantizableLinear) or callable(
        getattr(module, "weight", None)
    )


def _is_lora(module: Any) -> bool:
    return hasattr(module, "lora_A") or (hasattr(module, "base_layer") and type(module).__module__.startswith("peft."))


def is_linear(module: Any) -> bool:
    """Whether sparsify_ has a row for it."""
    if isinstance(module, (SparseLinear, FrozenSparseLinear)):
        return False
    if isinstance(module, nn.Linear) or is_conv1d(module):
        return True
    return hasattr(module, "in_features") and hasattr(module, "out_features") and _is_quantised(module)


def operands_of(layer: Any) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """Weight [out, in], mask (of prune) and bias."""
    weight, mask = layer.weight, None
    if hasattr(layer, "weight_orig") and hasattr(layer, "weight_mask"):
        weight, mask = layer.weight_orig, layer.weight_mask
    if is_conv1d(layer):
        weight = weight.t().contiguous()
        mask = None if mask is None else mask.t().contiguous()
    return weight, mask, layer.bias
