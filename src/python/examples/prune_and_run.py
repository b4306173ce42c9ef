"""Prunes a model by magnitude, makes it sparse in three lines, and compares it with the dense one.

    python prune_and_run.py [--sparsity 0.8] [--tokens 8] [--hidden 4096] [--tiny]

A GPU is used where there is one, else the emulator.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn.utils import prune

import vostok.torch as vt


def microseconds(function, device, repeats):
    """The median time of a call."""
    times = []
    for _ in range(repeats):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e6)
    return sorted(times)[len(times) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sparsity", type=float, default=0.8)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--tiny", action="store_true", help="sizes for the emulator")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.float16 if device == "cuda" else torch.float32
    hidden = 64 if options.tiny else options.hidden
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))
    model = model.to(device, dtype).eval()
    for layer in (model[0], model[2]):
        prune.l1_unstructured(layer, "weight", options.sparsity)
    x = torch.randn(options.tokens, hidden, device=device, dtype=dtype)
    repeats = 2 if options.tiny else 50
    with torch.no_grad():
        expected = model(x)
        dense_us = microseconds(lambda: model(x), device, repeats)

        report = vt.sparsify_(model, tokens=options.tokens, freeze=True)
        vt.prepare(model, [options.tokens], progress=False)
        y = model(x)

        sparse_us = microseconds(lambda: model(x), device, repeats)
    print(report)
    error = float((y - expected).abs().max() / expected.abs().max())
    print(f"largest difference, relative to the largest output: {error:.1e}")
    assert error < (1e-5 if dtype == torch.float32 else 1e-2)
    print(f"dense {dense_us:.0f} us, sparse {sparse_us:.0f} us" + (" (the emulator's)" if device == "cpu" else ""))


if __name__ == "__main__":
    main()
