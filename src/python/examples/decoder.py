"""A decoder of Llama-2-7B's sizes, pruned by magnitude: tokens per second and GB, sparse beside dense, in one run.

    python decoder.py                        # an H100 or H200: 32 layers of 4096, 1,024 tokens of context
    python decoder.py --layers 4 --batch 1 8 --sparsity 0.7
    python decoder.py --tiny                 # sizes for the emulator

Weights are made on the device and pruned per row; both models have the same ones, and their logits are compared. Both
decode one token a step with a static cache of keys and values, as CUDA graphs on a GPU.
"""

import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional

import vostok.torch as vt

NAMES = ("qkv", "output", "gate_up", "down")


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

    def forward(self, x, cache, position, rotation):
        batch, hidden = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(batch, 3, self.heads, -1).unbind(1)
        q, k = rotate(q, rotation), rotate(k, rotation)
        keys, values = cache
        keys[:, :, position] = k
        values[:, :, position] = v
        mixed = functional.scaled_dot_product_attention(q.unsqueeze(2), keys, values)
        x = x + self.output(mixed.reshape(batch, hidden))
        gate, up = self.gate_up(self.norm_2(x)).chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * up)


def rotate(x, rotation):
    """Rotary positions."""
    cosine, sine = rotation
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)


class Decoder(nn.Module):
    """Logits of the next token, of one token for each sequence of the batch at the end of the context."""

    def __init__(self, options):
        super().__init__()
        self.embedding = nn.Embedding(options.vocabulary, options.hidden)
        self.layers = nn.ModuleList(Layer(options) for _ in range(options.layers))
        self.norm = nn.RMSNorm(options.hidden)
        self.head = nn.Linear(options.hidden, options.vocabulary, bias=False)
        self.position = options.context - 1
        size = options.hidden // options.heads
        angles = self.position / 10_000 ** (torch.arange(0, size, 2).float() / size)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens, caches):
        x = self.embedding(tokens)
        rotation = self.cosine.to(x.dtype), self.sine.to(x.dtype)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache, self.position, rotation)
        return self.head(self.norm(x))


def make_dense(options, device, dtype):
    """A decoder with weights made on the device."""
    with torch.device("meta"):
        model = Decoder(options)
    model = model.to(dtype).to_empty(device=device).eval()
    for name, tensor in model.named_parameters():
        nn.init.ones_(tensor) if "norm" in name else nn.init.normal_(tensor, std=tensor.shape[-1] ** -0.5)
    size = options.hidden // options.heads
    angles = model.position / 10_000 ** (torch.arange(0, size, 2, device=device).float() / size)
    model.cosine, model.sine = angles.cos(), angles.sin()
    return model.requires_grad_(False)


def prune_per_row(model, sparsity):
    """Keeps the weights of largest magnitude in each row. A row keeps a multiple of 8."""
    for layer in model.layers:
        for name in NAMES:
            weight = getattr(layer, name).weight
            count = max(8, round(weight.shape[1] * (1 - sparsity) / 8) * 8)
            weight.copy_(vt.dense(vt.csr(weight, count=count, per="row")))


def sparse_twin(dense, options, tokens):
    """A decoder that shares everything with the dense one but its linear layers, which are sparse and frozen."""
    with torch.device("meta"):
        model = Decoder(options)
    model.embedding, model.norm, model.head = dense.embedding, dense.norm, dense.head
    model.cosine, model.sine = dense.cosine, dense.sine
    for mine, theirs in zip(model.layers, dense.layers):
        mine.norm_1, mine.norm_2 = theirs.norm_1, theirs.norm_2
        for name in NAMES:
            setattr(mine, name, vt.SparseLinear.from_dense(getattr(theirs, name)).freeze(tokens))
    vt.prepare(model, [tokens], progress=False)
    return model.eval()


def linear_bytes(model):
    """Device memory of the layers' weights."""
    total = 0
    for layer in model.layers:
        for name in NAMES:
            module = getattr(layer, name)
            total += module.weight.nbytes if isinstance(module, nn.Linear) else module.packed.nbytes
    return total


def decode(model, batch, options, device, dtype):
    """Logits, and seconds a step: the median of several runs of a CUDA graph, or of plain calls without a GPU."""
    torch.manual_seed(2)
    size = options.hidden // options.heads
    shape = (batch, options.heads, options.context, size)
    caches = [tuple(torch.randn(shape, device=device, dtype=dtype) for _ in range(2)) for _ in model.layers]
    tokens = torch.randint(options.vocabulary, (batch,), device=device)
    logits = model(tokens, caches)
    if device == "cpu":
        start = time.perf_counter()
        model(tokens, caches)
        return logits, time.perf_counter() - start
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(tokens, caches)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = model(tokens, caches)
    times = []
    for _ in range(options.runs):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(options.steps):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / options.steps)
    return captured.clone(), sorted(times)[len(times) // 2]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--intermediate", type=int, default=11008)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--sparsity", type=float, nargs="+", default=[0.5, 0.7, 0.9])
    parser.add_argument("--steps", type=int, default=20, help="steps of a run")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument("--tiny", action="store_true", help="sizes for the emulator")
    options = parser.parse_args()
    if options.tiny:
        options.layers, options.hidden, options.intermediate, options.heads = 1, 32, 48, 2
        options.vocabulary, options.context, options.batch, options.sparsity = 64, 16, [2], [0.7]
    return options


@torch.no_grad()
def main():
    options = parse()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16
    torch.manual_seed(1)
    dense = make_dense(options, device, dtype)
    name = torch.cuda.get_device_name() if device == "cuda" else "the emulator, whose times say nothing"
    print(f"{options.layers} layers of {options.hidden}, {options.context} tokens of context, bf16, on {name}")
    rows = []
    for sparsity in sorted(options.sparsity):  # pruning further keeps a part of what was kept
        prune_per_row(dense, sparsity)
        for batch in options.batch:
            expected, dense_seconds = decode(dense, batch, options, device, dtype)
            sparse = sparse_twin(dense, options, batch)
            logits, sparse_seconds = decode(sparse, batch, options, device, dtype)
            error = float((logits.float() - expected.float()).norm() / expected.float().norm())
            assert error < 0.05, f"logits differ by {error:.2e}"
            row = {
                "sparsity": sparsity,
                "batch": batch,
                "dense_tokens_s": batch / dense_seconds,
                "sparse_tokens_s": batch / sparse_seconds,
                "speedup": dense_seconds / sparse_seconds,
                "dense_gb": linear_bytes(dense) / 1e9,
                "sparse_gb": linear_bytes(sparse) / 1e9,
                "logit_error": error,
            }
            rows.append(row)
            print(
                f"{sparsity:.0%} batch {batch}: {row['dense_tokens_s']:.1f} -> {row['sparse_tokens_s']:.1f} tokens/s "
                f"({row['speedup']:.2f}x), linear layers {row['dense_gb']:.3f} -> {row['sparse_gb']:.3f} GB, "
                f"logits differ by {error:.1e}",
                flush=True,
            )
            del sparse
            vt.clear()
    if options.json:
        sizes = {key: getattr(options, key) for key in ("layers", "hidden", "intermediate", "heads", "context")}
        with open(options.json, "w") as file:
            json.dump({"device": name, "torch": torch.__version__, "sizes": sizes, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
