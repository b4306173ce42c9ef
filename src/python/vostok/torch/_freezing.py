"""Freezing many layers: most of packing is compressing and digesting on the host, a second for 50 million elements."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable

import torch
from torch import nn

from .._errors import InvalidArgument
from ._modules import FrozenSparseLinear, SparseLinear

_MOST_THREADS = 8  # each holds a layer's values, structure and packed bytes

Done = Callable[[FrozenSparseLinear], None]


class Freezing:
    """Freezes layers beside one another, a few at a time; done(frozen) is called in the order and the thread of add."""

    def __init__(self, max_tokens: int) -> None:
        if max_tokens < 1:
            raise InvalidArgument(f"cannot freeze: max_tokens is {max_tokens}, and must be at least 1")
        self.max_tokens = max_tokens
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
            return layer.freeze(self.max_tokens)


def freeze_(model: nn.Module, max_tokens: int) -> nn.Module:
    """Freezes every SparseLinear of a model in place (SparseLinear.freeze), several at a time; returns the model. A
    single layer is returned frozen."""
    if isinstance(model, SparseLinear):
        return model.freeze(max_tokens)
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

    with Freezing(max_tokens) as freezing:
        for layer in layers:
            freezing.add(layer, put(id(layer)))
    return model
