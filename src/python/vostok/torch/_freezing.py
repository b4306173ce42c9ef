"""Freezing many layers: most of packing is compressing and digesting on the host, a second for 50 million elements.

What a model's layers are planned for is the model's to say: each may fit into the last-level cache, and is evicted from
it by all the others before its next call.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from ._devices import current_context
from ._linear import is_evicted
from ._modules import FrozenSparseLinear, SparseLinear, check_counts

_MOST_THREADS = 8  # each holds a layer's values, structure and packed bytes

Done = Callable[[FrozenSparseLinear], None]


def bytes_by_device(model: nn.Module) -> dict[torch.device, int]:
    """Bytes of all the model's parameters and buffers on each device; storages that are shared count once. What has no
    storage does not count: sparse tensors, lazy parameters, the meta device."""
    sizes: dict[torch.device, int] = {}
    seen: set[int] = set()
    for tensor in itertools.chain(model.parameters(), model.buffers()):
        if tensor.layout is not torch.strided or tensor.is_meta or is_lazy(tensor):
            continue
        storage = tensor.untyped_storage()
        if storage._cdata not in seen:
            seen.add(storage._cdata)
            sizes[tensor.device] = sizes.get(tensor.device, 0) + storage.nbytes()
    return sizes


def policy_on(device: torch.device, sizes: dict[torch.device, int]) -> str | None:
    """The policy of all layers on a device: cold where what the model has there, of bytes_by_device, is larger than
    half of the device's last-level cache; else each layer's size tells."""
    size = sizes.get(device, 0)
    return "cold" if size and is_evicted(current_context(device), size) else None


class Freezing:
    """Freezes layers of a model beside one another, a few at a time; done(frozen) is called in the order and the thread
    of add."""

    def __init__(self, model: nn.Module, max_tokens: int, few_tokens: int | None = None) -> None:
        check_counts(max_tokens, few_tokens)
        self.counts = max_tokens, few_tokens
        self.sizes = bytes_by_device(model)
        self.threads = min(_MOST_THREADS, os.cpu_count() or 1)
        self.waiting: deque[tuple[Future[FrozenSparseLinear], Done]] = deque()

    def __enter__(self) -> Freezing:
        self.pool = ThreadPoolExecutor(self.threads, "vostok-freeze")
        return self

    def __exit__(self, kind: Any, *what: Any) -> None:
        try:
            while kind is None and self.waiting:
                self._take()
        finally:
            self.pool.shutdown(cancel_futures=True)

    def add(self, layer: SparseLinear, done: Done) -> None:
        """Waits until a thread is free."""
        if len(self.waiting) >= self.threads:
            self._take()
        values = layer.values
        stream = torch.cuda.current_stream(values.device) if values.is_cuda else None
        self.waiting.append((self.pool.submit(self._freeze, layer, stream), done))

    def _take(self) -> None:
        future, done = self.waiting.popleft()
        done(future.result())

    def _freeze(self, layer: SparseLinear, stream: Any) -> FrozenSparseLinear:
        """Behind what the thread that adds has queued."""
        with contextlib.nullcontext() if stream is None else torch.cuda.stream(stream):
            return layer.freeze(*self.counts, policy=policy_on(layer.values.device, self.sizes))


def freeze_(model: nn.Module, max_tokens: int, few_tokens: int | None = None) -> nn.Module:
    """Freezes every SparseLinear of a model in place, several at a time; returns the model. A single layer is returned
    frozen. max_tokens, few_tokens: of SparseLinear.freeze, which names the errors.

    All are planned under the policy "cold", now and wherever they are loaded, where the model's parameters and buffers
    together take more than half of the last-level cache of the GPU that they are on. So freeze a model as a whole, and
    on the GPU that will run it.
    """
    if isinstance(model, SparseLinear):
        return model.freeze(max_tokens, few_tokens, policy=policy_on(model.values.device, bytes_by_device(model)))
    names: dict[int, list[tuple[nn.Module, str]]] = {}
    layers: list[SparseLinear] = []
    for parent in model.modules():
        for name, layer in parent._modules.items():  # all names of a layer
            if isinstance(layer, SparseLinear):
                if id(layer) not in names:
                    layers.append(layer)
                names.setdefault(id(layer), []).append((parent, name))

    def put(key: int) -> Done:
        def done(frozen: FrozenSparseLinear) -> None:
            for parent, name in names[key]:
                setattr(parent, name, frozen)

        return done

    with Freezing(model, max_tokens, few_tokens) as freezing:
        for layer in layers:
            freezing.add(layer, put(id(layer)))
    return model
