"""Masks of attention, by name: what lies where, as a Csr, as a dense one, and as FlexAttention asks for it."""

from typing import Callable, NamedTuple

import torch
from contest import context

import vostok
import vostok.torch as vt

SEED = 1
GLOBAL_KEYS = 64  # of the window


class Mask(NamedTuple):
    """One for all heads: queries by keys."""

    csr: vt.Csr
    causal: bool
    attends: Callable  # (query, key) -> whether, for index tensors; None: nothing but a look-up tells

    def dense(self):
        """bool [queries, keys]"""
        columns = self.csr.column_indices
        return vt.dense(self.csr.with_values(torch.ones_like(columns, dtype=torch.uint8))) != 0

    def bias(self, dtype):
        """0 where attended, else -infinity."""
        places = self.dense()
        return torch.zeros(places.shape, dtype=dtype, device=places.device).masked_fill_(~places, float("-inf"))

    def bytes(self):
        """Of the index tensors."""
        return self.csr.row_offsets.nbytes + self.csr.column_indices.nbytes

    def facts(self):
        """For a row."""
        count = self.csr.column_indices.shape[0]
        return {"nonzeros": count, "zeros": 1 - count / (self.csr.shape[0] * self.csr.shape[1])}


def _of_dense(places, causal, attends=None):
    found = vt.csr(places.to(torch.float32))
    return Mask(found.with_values(found.values[:0]), causal, attends)


def paper(tokens, device, width=256, sparsity=0.95):
    """Causal: a dense band, and left of it elements at random, the rarer the farther (SC20 paper, VII-C)."""
    made = vostok.tools.attention_mask((tokens, tokens), width, sparsity, causal=True, seed=SEED, context=context())
    offsets, columns = (torch.from_numpy(part.copy()).to(device) for part in made.read())
    return Mask(vt.Csr(torch.empty(0, device=device), offsets, columns, (tokens, tokens)), True, None)


def random(tokens, device, zeros):
    """Elements at random, and the diagonal, so that no query is without keys."""
    generator = torch.Generator(device).manual_seed(SEED)
    places = torch.rand(tokens, tokens, device=device, generator=generator) >= zeros
    return _of_dense(places.fill_diagonal_(True), False)


def window(tokens, device, width=256, keys=GLOBAL_KEYS):
    """Keys that are at most `width` away, and the first ones, which all queries attend to."""

    def attends(query, key):
        return ((query - key).abs() <= width) | (key < keys)

    place = torch.arange(tokens, device=device)
    return _of_dense(attends(place[:, None], place[None, :]), False, attends)


def causal(tokens, device):
    """All keys up to the query."""
    place = torch.arange(tokens, device=device)
    return _of_dense(place[:, None] >= place[None, :], True, lambda query, key: query >= key)


def bigbird(tokens, device, block=64):
    """Blocks of tokens: each attends to its neighbours, three at random and the first one, which attends to all (Zaheer
    et al.: Big Bird, arXiv 2007.14062)."""
    made = vt.BigBirdMask(block=block, seed=SEED).csr(tokens, tokens, device)
    return Mask(made.with_values(made.values[:0]), False, None)


NAMES = "paper, window, bigbird, causal or random-PERCENT of zeros"


def make(name, tokens, device, tiny=False):
    """One of NAMES."""
    if name == "paper":
        return paper(tokens, device, 8 if tiny else 256)
    if name == "window":
        return window(tokens, device, *((4, 3) if tiny else (256, GLOBAL_KEYS)))
    if name == "causal":
        return causal(tokens, device)
    if name == "bigbird":
        return bigbird(tokens, device, 4 if tiny else 64)
    kind, _, percent = name.partition("-")
    if kind != "random" or not percent:
        raise SystemExit(f"cannot make the mask '{name}': it may be {NAMES}")
    return random(tokens, device, float(percent) / 100)


def keeping_last(tokens, device, tiny=False):
    """make() of a name alone. The last mask is kept, and goes before another is made."""
    kept = {}

    def mask_of(name):
        if name not in kept:
            kept.clear()
            kept[name] = make(name, tokens, device, tiny)
        return kept[name]

    return mask_of
