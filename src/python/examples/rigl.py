"""Trains a sparse MLP with RigL, beside a masked dense twin that gets the same masks: the losses must agree.

    python rigl.py [--steps 200] [--hidden 1024] [--sparsity 0.9] [--tiny]

A GPU is used where there is one, else the emulator.
"""

import argparse

import torch
from torch import nn

import vostok.torch as vt


class Masked(nn.Linear):
    """The twin: a dense layer whose weight is multiplied by a mask."""

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.mask, self.bias)


def sparse_layer(inputs, outputs, sparsity):
    """A SparseLinear whose nonzeros lie at random, as many in each row, and its twin."""
    twin = Masked(inputs, outputs)
    count = max(1, round(inputs * (1 - sparsity)))
    twin.mask = vt.dense(vt.csr(torch.rand(outputs, inputs), count=count, per="row")) != 0
    with torch.no_grad():
        twin.weight.mul_(twin.mask / (1 - sparsity) ** 0.5)
    return vt.SparseLinear.from_dense(twin, mask=twin.mask), twin


def follow(sparse, twin, optimizer, twin_optimizer):
    """Gives the twin the sparse layer's mask, values and optimizer state."""
    a = sparse.csr()
    twin.mask = vt.dense(a.with_values(torch.ones_like(a.values))) != 0
    with torch.no_grad():
        twin.weight.copy_(vt.dense(a))
    for name, value in optimizer.state[sparse.values].items():
        if value.shape == a.values.shape:
            twin_optimizer.state[twin.weight][name] = vt.dense(a.with_values(value))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--sparsity", type=float, default=0.9)
    parser.add_argument("--every", type=int, default=20, help="steps between moves of the mask")
    parser.add_argument("--tiny", action="store_true", help="sizes for the emulator")
    options = parser.parse_args()
    if options.tiny:
        options.steps, options.hidden, options.batch, options.every = 20, 48, 16, 5
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    hidden, inputs, outputs = options.hidden, options.hidden // 2, 8
    layers = [sparse_layer(inputs, hidden, options.sparsity), sparse_layer(hidden, hidden, options.sparsity)]
    head = nn.Linear(hidden, outputs)
    model = nn.Sequential(layers[0][0], nn.ReLU(), layers[1][0], nn.ReLU(), head).to(device)
    twin_head = nn.Linear(hidden, outputs)
    twin_head.load_state_dict(head.state_dict())
    twin = nn.Sequential(layers[0][1], nn.ReLU(), layers[1][1], nn.ReLU(), twin_head).to(device)
    for place in (0, 2):
        twin[place].mask = twin[place].mask.to(device)
    teacher = nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, outputs)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    twin_optimizer = torch.optim.Adam(twin.parameters(), 2e-3)
    rigl = vt.RigL(model)
    worst = 0.0
    for step in range(options.steps):
        x = torch.randn(options.batch, inputs, device=device)
        target = teacher(x).detach()
        moves = step % options.every == options.every - 1 and step < 0.75 * options.steps
        losses = []
        for network, each in ((model, optimizer), (twin, twin_optimizer)):
            each.zero_grad()
            with rigl.watching() if network is model and moves else torch.enable_grad():
                loss = nn.functional.mse_loss(network(x), target)
                loss.backward()
            each.step()
            losses.append(loss.item())
        worst = max(worst, abs(losses[0] - losses[1]) / losses[1])
        if moves:
            moved = rigl.step(optimizer, 0.3)
            for place in (0, 2):
                follow(model[place], twin[place], optimizer, twin_optimizer)
            print(f"step {step + 1}: loss {losses[0]:.5f}, masked dense {losses[1]:.5f}, moved {sum(moved.values())}")
    print(f"end: loss {losses[0]:.5f}, masked dense {losses[1]:.5f}; they differ by at most {worst:.1e}, relative")
    assert worst < 5e-3, "the sparse model and its masked dense twin do not train alike"


if __name__ == "__main__":
    main()
