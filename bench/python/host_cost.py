"""What a SparseLinear call without gradient costs the host above nn.Linear's, in microseconds.

    python bench/python/host_cost.py

Minima over many short runs: on a machine that does other things these are what repeats. On a GPU calls are queued and
not waited for. On the emulator, whose kernels take milliseconds, the last step, vostok_execute_spmm, is left out, which
queues a kernel in about 0.1 us and the driver's launch.
"""

import argparse
import time

import torch

import vostok.torch as vt
from vostok.torch import _linear


def microseconds(function, calls, runs):
    """The least time of a call."""
    best = float("inf")
    for _ in range(runs):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - start) / calls)
    return best * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200, help="calls of a run")
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dense = torch.nn.Linear(64, 48, device=device)
    mask = torch.rand(48, 64, device=device) < 0.3
    sparse = vt.SparseLinear.from_dense(dense, mask=mask)
    x = torch.randn(4, 64, device=device)
    with torch.no_grad():
        sparse(x)
        if device == "cpu":
            _linear.execute_spmm = lambda plan, stream, arguments: 0
        base = microseconds(lambda: dense(x), options.calls, options.runs)
        ours = microseconds(lambda: sparse(x), options.calls, options.runs)
    print(f"{device}: nn.Linear {base:.2f}, SparseLinear {ours:.2f}, {ours - base:.2f} us above it")


if __name__ == "__main__":
    main()
