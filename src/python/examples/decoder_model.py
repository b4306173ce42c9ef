"""A decoder of Llama-2-7B's kind, with weights made of seeds on the device, so that each layer can be made again."""

import copy
from typing import Callable, NamedTuple

import torch
from torch import nn
from torch.nn import functional

import vostok.torch as vt

NAMES = ("qkv", "output", "gate_up", "down")


def add_norm(x, delta, weight):
    """x + delta, and its RMS norm."""
    x = x + delta
    return x, functional.rms_norm(x, x.shape[-1:], weight, 1e-5)


def rotate(qkv, cosine, sine):
    """Rotary positions of queries and keys, [batch, 0 and 1]; values, [batch, 2], stay: their angle is 0."""
    return torch.addcmul(qkv * cosine, qkv.roll(qkv.shape[-1] // 2, -1), sine)


def gated(gate_up):
    """What the feed-forward part does between its products."""
    gate, up = gate_up.chunk(2, dim=-1)
    return functional.silu(gate) * up


class Glue(NamedTuple):
    """What is neither product nor attention: it costs the dense and the sparse model alike."""

    add_norm: Callable = add_norm
    rotate: Callable = rotate
    gated: Callable = gated

    def compiled(self, backend):
        """With a kernel for each, where the backend is inductor."""
        return Glue(*(torch.compile(part, backend=backend, dynamic=False, fullgraph=True) for part in self))


class Layer(nn.Module):
    """Attention with rotary positions and a cache, and a gated feed-forward part. Products that read the same input are
    one, as engines have them."""

    def __init__(self, options):
        super().__init__()
        hidden, inner = options.hidden, options.intermediate
        self.heads = options.heads
        self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.output = nn.Linear(hidden, hidden, bias=False)
        self.gate_up = nn.Linear(hidden, 2 * inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)
        self.norm_1 = nn.RMSNorm(hidden)
        self.norm_2 = nn.RMSNorm(hidden)

    def forward(self, x, delta, cache, position, rotation, glue):
        """x and what is to be added to it, [batch, hidden]; cache [2, batch, heads, context, size]: keys and values,
        written at `position`. Returns the next two."""
        batch, hidden = x.shape
        x, normed = glue.add_norm(x, delta, self.norm_1.weight)
        qkv = glue.rotate(self.qkv(normed).view(batch, 3, self.heads, -1), *rotation)
        cache[:, :, :, position] = qkv[:, 1:].transpose(0, 1)
        mixed = functional.scaled_dot_product_attention(qkv[:, 0].unsqueeze(2), cache[0], cache[1])
        x, normed = glue.add_norm(x, self.output(mixed.reshape(batch, hidden)), self.norm_2.weight)
        return x, self.down(glue.gated(self.gate_up(normed)))


def rotation_at(position, size, device):
    """Cosines and signed sines [3, 1, size] of a position."""
    angles = position / 10_000 ** (torch.arange(0, size, 2, device=device).float() / size)
    cosine = torch.ones(3, 1, size, device=device)
    sine = torch.zeros(3, 1, size, device=device)
    cosine[:2] = torch.cat([angles, angles]).cos()
    sine[:2] = torch.cat([-angles.sin(), angles.sin()])
    return cosine, sine


class Decoder(nn.Module):
    """Logits of the next token, of one token for each sequence of the batch at the end of the context. Made without
    the layers' linear weights."""

    def __init__(self, options, device, dtype):
        super().__init__()
        self.options = options
        self.glue = Glue()
        self.position = options.context - 1
        with torch.device("meta"):
            self.embedding = nn.Embedding(options.vocabulary, options.hidden)
            self.layers = nn.ModuleList(Layer(options) for _ in range(options.layers))
            self.norm = nn.RMSNorm(options.hidden)
            self.head = nn.Linear(options.hidden, options.vocabulary, bias=False)
        self.to(dtype)
        for seed, module in enumerate((self.embedding, self.head)):
            module.weight = parameter(random_weight(module.weight.shape, seed, device, dtype))
        for module in self.modules():
            if isinstance(module, nn.RMSNorm):
                module.weight = parameter(torch.ones(options.hidden, device=device, dtype=dtype))
        self.rotation = rotation_at(self.position, options.hidden // options.heads, device)
        self.eval()

    def forward(self, tokens, caches):
        """tokens [batch], caches: one for each layer -> [batch, vocabulary]"""
        x = self.embedding(tokens)
        delta = torch.zeros_like(x)
        rotation = [part.to(x.dtype) for part in self.rotation]
        for layer, cache in zip(self.layers, caches):
            x, delta = layer(x, delta, cache, self.position, rotation, self.glue)
        return self.head(self.glue.add_norm(x, delta, self.norm.weight)[1])

    def exact(self, tokens, caches):
        """The same in float32, of the same weights: what both models are compared with. For dense layers; the caches
        are not written."""
        x = self.embedding(tokens).float()
        delta, glue = torch.zeros_like(x), Glue()
        for layer, cache in zip(self.layers, caches):
            layer = copy.deepcopy(layer).float()
            x, delta = layer(x, delta, cache.float(), self.position, self.rotation, glue)
        _, normed = glue.add_norm(x, delta, self.norm.weight.float())
        return functional.linear(normed, self.head.weight.float())

    def fill(self, index, sparsity, device, dtype):
        """Makes a layer dense, with the weights of its seeds, pruned."""
        layer, source = self.layers[index], index % (self.options.distinct or len(self.layers))
        if source != index:
            for name in NAMES:
                setattr(layer, name, copy.deepcopy(getattr(self.layers[source], name)))
            return
        for place, name in enumerate(NAMES):
            shape = self._shape(name)
            weight = pruned(random_weight(shape, 2 + 4 * index + place, device, dtype), sparsity)
            with torch.device("meta"):
                linear = nn.Linear(shape[1], shape[0], bias=False)
            linear.weight = parameter(weight)
            setattr(layer, name, linear)

    def freeze(self, indices, max_tokens, few_tokens=None):
        """Makes layers sparse, packed for inference, for few tokens a second time; their dense weights go. Copies come
        after what they copy."""
        sources = {index: index % (self.options.distinct or len(self.layers)) for index in indices}
        own = [self.layers[index] for index in indices if sources[index] == index]
        for layer in own:
            for name in NAMES:
                setattr(layer, name, vt.SparseLinear.from_dense(getattr(layer, name)))
        vt.freeze_(nn.ModuleList(own), max_tokens, few_tokens)
        for index in indices:
            if sources[index] != index:
                for name in NAMES:
                    setattr(self.layers[index], name, copy.deepcopy(getattr(self.layers[sources[index]], name)))

    def drop(self):
        """Lets the layers' linear weights go."""
        for layer in self.layers:
            for name in NAMES:
                setattr(layer, name, None)

    def linear_bytes(self):
        """What the layers' linear weights take, as their tensors on the device say: for many tokens, and for few."""
        modules = [getattr(layer, name) for layer in self.layers for name in NAMES]
        many = sum((module.weight if isinstance(module, nn.Linear) else module.packed).nbytes for module in modules)
        few = [getattr(module, "packed_few", None) for module in modules]
        return many, sum(packed.nbytes for packed in few if packed is not None)

    def _shape(self, name):
        hidden, inner = self.options.hidden, self.options.intermediate
        return {
            "qkv": (3 * hidden, hidden),
            "output": (hidden, hidden),
            "gate_up": (2 * inner, hidden),
            "down": (hidden, inner),
        }[name]


def parameter(tensor):
    """As a parameter that is not trained."""
    return nn.Parameter(tensor, requires_grad=False)


def random_weight(shape, seed, device, dtype):
    """Made on the device; outputs of a row have the variance of its inputs."""
    generator = torch.Generator(device).manual_seed(seed)
    return torch.empty(shape, device=device, dtype=dtype).normal_(0, shape[-1] ** -0.5, generator=generator)


def pruned(weight, sparsity):
    """Keeps the weights of largest magnitude in each row. A row keeps a multiple of 8."""
    count = max(8, round(weight.shape[1] * (1 - sparsity) / 8) * 8)
    return vt.dense(vt.csr(weight, count=count, per="row"))
