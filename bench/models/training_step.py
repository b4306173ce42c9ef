"""A training step of one sparse layer beside dense ones: the forward pass, and the gradients by input and by weight.

    python training_step.py --json training_step.json       # an H200: 8192x8192, 90 % zeros, 4,096 tokens, bf16
    python training_step.py --numbers bf16 f16 --sparsity 0.9 0.95 --tokens 1024 4096
    python training_step.py --tiny                          # sizes for the emulator

Activations are [tokens, features], and weights change in every step: nothing is packed before. The sides:

    vostok   ours, over the nonzeros of the weight; their gradient is sampled there
    masked   PyTorch's product with the weight times its mask, through which the gradient comes back
    dense    the same without a mask: zeros are stored, and the gradient has all places. Less than it cannot take

All are CUDA graphs on a GPU, timed in turns, and so are the three products alone: `forward`, `by_input`, `by_weight`.
Every line of the outputs and of both gradients is compared with float64, at the weight's nonzeros: of the first call,
in poisoned memory, and of the last one timed.
"""

import torch
from contest import OURS, Side, bytes_of, device_here, drive, fill_lists, parser_of, precision, raced, worst_line
from dense_numbers import Numbers
from torch.nn import functional

import vostok.torch as vt

NUMBERS = {
    "fp32": Numbers(torch.float32, False, 2e-5),
    "tf32": Numbers(torch.float32, True, 3e-3),
    "f16": Numbers(torch.float16, False, 2e-3),
    "bf16": Numbers(torch.bfloat16, False, 1e-2),
}


def masked(x, weight, mask):
    return functional.linear(x, weight * mask)


class Case:
    """A weight, activations and a gradient, and what is right."""

    def __init__(self, options, case, device):
        self.numbers = NUMBERS[case["numbers"]]
        share, (outputs, inputs) = 1 - case["sparsity"], (options.outputs, options.inputs)
        generator = torch.Generator(device).manual_seed(5)

        def drawn(*shape):
            return torch.empty(shape, device=device).normal_(generator=generator)

        kept = torch.rand(outputs, inputs, device=device, generator=generator) < share
        self.weight = (drawn(outputs, inputs) * kept * (inputs * share) ** -0.5).to(self.numbers.dtype)
        self.mask = (self.weight != 0).to(self.numbers.dtype)
        self.x, self.dy = (drawn(case["tokens"], width).to(self.numbers.dtype) for width in (inputs, outputs))
        x, weight, dy = self.x.double(), self.weight.double(), self.dy.double()
        self.exact = x @ weight.mT, dy @ weight, (dy.mT @ x) * self.mask
        self.x.requires_grad_()

    def side(self, forward, weight, parts, spread, own_bytes):
        """forward(x, weight) with its gradients; spread(the weight's gradient) is dense, and zero off the nonzeros."""
        weight.requires_grad_()

        def call():
            with precision(self.numbers.tf32):
                y = forward(self.x, weight)
                return y.detach(), *torch.autograd.grad(y, (self.x, weight), self.dy)

        def alone(part):
            with torch.no_grad(), precision(self.numbers.tf32):
                return (part(),)

        def judge(y, by_input, by_weight):
            return max(map(worst_line, (y, by_input, spread(by_weight)), self.exact))

        return Side(
            call,
            judge,
            self.numbers.tolerance,
            own_bytes + bytes_of(weight, self.x, self.dy),
            parts={name: lambda part=part: alone(part) for name, part in parts.items()},
        )

    def ours(self):
        a = vt.csr(self.weight)
        parts = {
            "forward": lambda: vt.linear(self.x, a),
            "by_input": lambda: torch.ops.vostok.linear(self.dy, *a[:3], *a.shape, None, None, True),
            "by_weight": lambda: vt.sddmm(a, self.dy.mT, self.x.mT),
        }
        side = self.side(
            lambda x, values: vt.linear(x, a.with_values(values)),
            a.values.detach(),
            parts,
            lambda values: vt.dense(a.with_values(values)),
            bytes_of(a.row_offsets, a.column_indices),
        )
        side.call()
        side.facts = {"plans": [plan.splitlines() for plan in vt.explain(a).split("\n- ")[1:]]}
        return side

    def dense(self, forward, parts, own_bytes=0):
        return self.side(forward, self.weight.clone(), parts, lambda gradient: gradient * self.mask, own_bytes)

    def sides(self):
        """By name, as functions that make them."""
        weight, mask, x, dy = self.weight, self.mask, self.x, self.dy
        parts = {
            "forward": lambda: functional.linear(x, weight),
            "by_input": lambda: dy @ weight,
            "by_weight": lambda: dy.mT @ x,
        }
        masked_parts = {
            "forward": lambda: masked(x, weight, mask),
            "by_input": lambda: dy @ weight,
            "by_weight": lambda: dy.mT @ x * mask,
        }
        return {
            OURS: self.ours,
            "masked": lambda: self.dense(lambda x, weight: masked(x, weight, mask), masked_parts, bytes_of(mask)),
            "dense": lambda: self.dense(functional.linear, parts),
        }


def parse():
    parser = parser_of(__doc__)
    parser.add_argument("--outputs", type=int, default=8192)
    parser.add_argument("--inputs", type=int, default=8192)
    parser.add_argument("--sparsity", type=float, nargs="+", default=[0.9])
    parser.add_argument("--tokens", type=int, nargs="+", default=[4096])
    parser.add_argument("--numbers", nargs="+", choices=NUMBERS, help="what is computed in (bf16)")
    options = parser.parse_args()
    fill_lists(options, {"numbers": ["bf16"]}, {"numbers": ["fp32", "bf16"]})
    if options.tiny:
        options.outputs, options.inputs, options.sparsity, options.tokens = 48, 32, [0.8], [16]
    return options


def main():
    options = parse()
    device = device_here()
    cases = [
        {"numbers": numbers, "sparsity": sparsity, "tokens": tokens}
        for numbers in options.numbers
        for sparsity in options.sparsity
        for tokens in options.tokens
    ]
    problem = {"outputs": options.outputs, "inputs": options.inputs}

    def measure(case):
        return raced(Case(options, case, device).sides(), options, device)

    drive("training_step", options, problem, cases, measure)


if __name__ == "__main__":
    main()
