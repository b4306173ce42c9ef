"""Trains a sparse MLP with RigL, beside a masked dense twin that gets the same masks: the losses must agree.

    python rigl.py [--steps 200] [--hidden 1024] [--sparsity 0.9] [--json rigl.json] [--tiny]

A GPU is used where there is one, else the emulator. Both sides compute in float32 (the twin without TF32). Between two
moves of the masks each trains by itself, then the twin is given the sparse model's weights and optimizer state.
"""

import argparse

import measured
import torch
from torch import nn

import vostok.torch as vt

TOLERANCE = 5e-3  # of the losses, relative: rounding grows while the two train apart
CURVE_POINTS = 100


class Masked(nn.Linear):
    """The twin: a dense layer whose weight is multiplied by a mask."""

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.mask, self.bias)


def sparse_layer(inputs, outputs, sparsity, device):
    """A SparseLinear whose nonzeros lie at random, as many in each row, and its twin."""
    twin = Masked(inputs, outputs, device=device)
    count = max(1, round(inputs * (1 - sparsity)))
    twin.mask = vt.dense(vt.csr(torch.rand(outputs, inputs, device=device), count=count, per="row")) != 0
    with torch.no_grad():
        twin.weight.mul_(twin.mask / (1 - sparsity) ** 0.5)
    return vt.SparseLinear.from_dense(twin, mask=twin.mask), twin


def networks(options, device):
    """The sparse model and its twin, with the same weights."""
    inputs, hidden, outputs = options.hidden // 2, options.hidden, 8
    first, second = (sparse_layer(width, hidden, options.sparsity, device) for width in (inputs, hidden))
    head, twin_head = (nn.Linear(hidden, outputs, device=device) for _ in range(2))
    twin_head.load_state_dict(head.state_dict())
    return (
        nn.Sequential(mine, nn.ReLU(), other, nn.ReLU(), last)
        for mine, other, last in ((first[0], second[0], head), (first[1], second[1], twin_head))
    )


@torch.no_grad()
def follow(model, twin, optimizer, twin_optimizer):
    """Gives the twin the sparse model's masks, parameters and optimizer state."""

    def copy(mine, theirs, spread=torch.clone):
        theirs.copy_(spread(mine))
        for name, value in optimizer.state[mine].items():
            twin_optimizer.state[theirs][name] = spread(value) if value.shape == mine.shape else value.clone()

    for layer, other in zip(model, twin):
        if isinstance(layer, vt.SparseLinear):
            a = layer.csr()
            other.mask = vt.dense(a.with_values(torch.ones_like(a.values))) != 0
            copy(layer.values, other.weight, lambda value: vt.dense(a.with_values(value)))
        elif isinstance(layer, nn.Linear):
            copy(layer.weight, other.weight)
        if isinstance(layer, (vt.SparseLinear, nn.Linear)):
            copy(layer.bias, other.bias)


def train_step(network, optimizer, x, target):
    """The loss before the step, on the device."""
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(network(x), target)
    loss.backward()
    optimizer.step()
    return loss.detach()


def train(options, device, progress):
    """Losses of both sides, microseconds of their steps and of the moves of the mask; less where time is up."""
    model, twin = networks(options, device)
    teacher = nn.Sequential(nn.Linear(options.hidden // 2, 32), nn.Tanh(), nn.Linear(32, 8)).to(device)
    rate = 2e-3 * min(1, 1024 / options.hidden)  # wider layers learn nothing at the rate of narrow ones
    sides = [(network, torch.optim.Adam(network.parameters(), rate)) for network in (model, twin)]
    rigl = vt.RigL(model)
    losses, times, moves = ([], []), ([], []), []
    try:
        for step in range(options.steps):
            x = torch.randn(options.batch, options.hidden // 2, device=device)
            target = teacher(x).detach()
            last = step % options.every == options.every - 1
            watched = last and step < 0.75 * options.steps
            for side, (network, optimizer) in enumerate(sides):
                took = [] if last else times[side]  # steps that are watched do more
                with rigl.watching() if watched and side == 0 else torch.enable_grad(), measured.timed(took, device):
                    loss = train_step(network, optimizer, x, target)
                losses[side].append(loss.item())
            if watched:
                with measured.timed(moves, device):
                    moved = rigl.step(sides[0][1], 0.3)
                told = f"loss {losses[0][-1]:.5f}, masked dense {losses[1][-1]:.5f}"
                print(f"step {step + 1}: {told}, moved {sum(moved.values())}", flush=True)
            if last:
                follow(model, twin, sides[0][1], sides[1][1])
            progress.step(f"step {step + 1}")
    except measured.OutOfTime as end:
        print(f"stopped early: {end}")
    return losses, times, moves


def row_of(losses, times, moves):
    """What the results tell."""
    worst = max(abs(mine - theirs) / theirs for mine, theirs in zip(*losses))
    stride = -(-len(losses[0]) // CURVE_POINTS)
    kept = sorted({*range(0, len(losses[0]), stride), len(losses[0]) - 1})
    row = {"steps_done": len(losses[0])}
    for name, loss, took in zip(("sparse", "dense"), losses, times):
        row[name] = measured.summary(took) | {"loss": loss[-1]}
    row["speedup"] = row["dense"]["median_us"] / row["sparse"]["median_us"]
    row["move"] = measured.summary(moves) if moves else None
    row |= {"error": worst, "tolerance": TOLERANCE, "verified": worst <= TOLERANCE, "clocks": measured.clocks()}
    row["curves"] = {
        name: [[step + 1, loss[step]] for step in kept] for name, loss in zip(("sparse", "masked dense"), losses)
    }
    return row


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--sparsity", type=float, default=0.9)
    parser.add_argument("--every", type=int, default=20, help="steps between moves of the mask")
    parser.add_argument("--tiny", action="store_true", help="sizes for the emulator")
    measured.add_options(parser)
    options = parser.parse_args()
    if options.tiny:
        options.steps, options.hidden, options.batch, options.every = 20, 48, 16, 5
    return options


def main():
    options = parse()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    sizes = {name: getattr(options, name) for name in ("steps", "hidden", "batch", "sparsity", "every")}
    results = measured.Results("rigl", options, {"element": "f32"} | sizes)
    losses, times, moves = train(options, device, measured.Progress(options.steps, options.seconds))
    row = row_of(losses, times, moves)
    results.add(row)
    if row["steps_done"] == options.steps:
        results.finish()
    print(
        f"a step: {row['sparse']['median_us'] / 1e3:.2f} ms, masked dense {row['dense']['median_us'] / 1e3:.2f} ms"
        + (f"; a move of the masks: {row['move']['median_us'] / 1e3:.1f} ms" if row["move"] else "")
    )
    print(
        f"end: loss {row['sparse']['loss']:.5f}, masked dense {row['dense']['loss']:.5f}; they differ by at most "
        f"{row['error']:.1e}, relative"
    )
    assert row["verified"], "the sparse model and its masked dense twin do not train alike"


if __name__ == "__main__":
    main()
