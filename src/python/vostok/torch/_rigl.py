"""RigL: training with a mask that moves (Evci et al., "Rigging the lottery")."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import torch
from torch import nn

from .._errors import InvalidArgument
from ._csr import make_csr, row_indices, structure_of
from ._functional import sddmm
from ._modules import SparseLinear


class RigL:
    """Drops the values of smallest magnitude, and grows as many where the loss falls fastest.

        rigl = vt.RigL(model)
        with rigl.watching():                  # now and then: the step whose gradients decide
            loss(model(x)).backward()
        rigl.step(optimizer, fraction=0.3)

    Gradients of candidates are computed by vostok.torch.sddmm of the layer's input and output gradient: dense ones are
    never made. `candidates`: how many zeros are looked at, in multiples of those that grow; None: all of them.
    """

    def __init__(self, model: nn.Module, *, candidates: float | None = 4.0, seed: int = 1) -> None:
        self.layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, SparseLinear)}
        if not self.layers:
            raise InvalidArgument("cannot train with RigL: the model has no SparseLinear")
        self.candidates = candidates
        self.seed = seed
        self.seen: dict[str, list[tuple[torch.Tensor, torch.Tensor]]] = {}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Keeps the inputs and output gradients of the sparse layers meanwhile, until the next step()."""
        self.seen = {name: [] for name in self.layers}
        handles = [layer.register_forward_hook(self._watch(name)) for name, layer in self.layers.items()]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _watch(self, name: str) -> Any:
        def watch(layer: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
            x = inputs[0].detach()
            if output.requires_grad:
                output.register_hook(lambda gradient: self.seen[name].append((x, gradient.detach())))

        return watch

    @torch.no_grad()
    def step(self, optimizer: torch.optim.Optimizer | None, fraction: float = 0.3) -> dict[str, int]:
        """Moves `fraction` of each layer's nonzeros, and the optimizer's state of those that stay; state of those that
        grow is 0. Gradients of the values are dropped. Returns how many moved, by layer."""
        if not 0.0 <= fraction <= 1.0:
            raise InvalidArgument(f"cannot take a RigL step: fraction is {fraction}, and may be 0 to 1")
        if not any(self.seen.values()):
            raise RuntimeError("cannot take a RigL step: nothing was seen; run a backward pass inside watching()")
        moved = {name: self._step(name, layer, optimizer, fraction) for name, layer in self.layers.items()}
        self.seen = {}
        self.seed += 1
        return moved

    def _step(self, name: str, layer: SparseLinear, optimizer: Any, fraction: float) -> int:
        seen = self.seen.get(name) or []
        zeros = layer.in_features * layer.out_features - layer.nonzeros
        count = min(int(fraction * layer.nonzeros), zeros)
        if not count or not seen:
            return 0
        rows, columns, scores = self._candidates(layer, seen, count)
        count = min(count, rows.numel())
        best = torch.topk(scores, count).indices
        kept = torch.ones(layer.nonzeros, dtype=torch.bool, device=rows.device)
        kept[torch.topk(layer.values.abs().float(), count, largest=False).indices] = False
        a = layer.csr()
        places = (
            torch.cat(
                [
                    (row_indices(a) * a.shape[1] + a.column_indices)[kept],
                    rows[best] * a.shape[1] + columns[best],
                ]
            )
            .sort()
            .values
        )
        counts = torch.bincount(places // a.shape[1], minlength=a.shape[0])
        offsets = torch.zeros(a.shape[0] + 1, dtype=torch.int32, device=rows.device)
        offsets[1:] = counts.cumsum(0)
        before = layer.set_mask(offsets, (places % a.shape[1]).to(torch.int32))
        layer.values.grad = None
        if optimizer is not None:
            move_state(optimizer, layer.values, before)
        return count

    def _candidates(
        self, layer: SparseLinear, seen: Any, count: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Rows and columns of zeros, and the magnitude of the loss's gradient there."""
        a = layer.csr()
        free = torch.ones(a.shape[0] * a.shape[1], dtype=torch.bool, device=a.values.device)
        free[row_indices(a) * a.shape[1] + a.column_indices] = False
        if self.candidates is not None:
            free = self._sample(free, int(self.candidates * count))
        offsets, columns = structure_of(free.reshape(a.shape))
        mask = make_csr(columns.new_empty(0), offsets, columns, a.shape)
        total: torch.Tensor | None = None
        for x, gradient in seen:
            flat_x, flat_gradient = x.reshape(-1, x.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
            part = sddmm(mask, flat_gradient.mT, flat_x.to(flat_gradient.dtype).mT, math=layer.math).float()
            total = part if total is None else total + part
        assert total is not None
        return row_indices(mask), columns.long(), total.abs()

    def _sample(self, free: torch.Tensor, size: int) -> torch.Tensor:
        places = free.nonzero().squeeze(1)
        if places.numel() <= size:
            return free
        generator = torch.Generator(device=free.device).manual_seed(self.seed)
        chosen = torch.randperm(places.numel(), generator=generator, device=free.device)[:size]
        sampled = torch.zeros_like(free)
        sampled[places[chosen]] = True
        return sampled


def move_state(optimizer: torch.optim.Optimizer, parameter: nn.Parameter, before: torch.Tensor) -> None:
    """Moves an optimizer's state of a SparseLinear's values to where set_mask moved them: every tensor of it that has a
    place for each value. `before`: what set_mask returned."""
    state = optimizer.state.get(parameter, {})
    old = int(before.max()) + 1 if before.numel() else 0
    for key, tensor in list(state.items()):
        if isinstance(tensor, torch.Tensor) and tensor.dim() == 1 and tensor.shape[0] >= max(old, 1):
            moved = torch.where(before >= 0, tensor[before.clamp(min=0).to(tensor.device)], 0)
            state[key] = moved.to(tensor.dtype)
