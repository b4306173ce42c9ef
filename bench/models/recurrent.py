"""Sparse recurrent layers beside dense ones: RNN, GRU and LSTM over a sequence, weights resident on the device.

    python recurrent.py --json recurrent.json                    # an H200: 1024 to 8192 states, 100 steps
    python recurrent.py --cell lstm --states 2048 --sparsity 0.9 --batch 32
    python recurrent.py --tiny                                   # sizes for the emulator

Inputs are as wide as the states, and both weights of a layer have the same share of zeros. The products of all inputs
are one call; then each step takes one recurrent product and one kernel for the cell. The sides, CUDA graphs of the
whole sequence on a GPU, timed in turns:

    vostok            both products by frozen sparse layers, weights packed once
    cublas fp32, tf32 the same by PyTorch's dense products, zeros stored; in f16: `cublas f16`
    cudnn fp32, ..    torch.nn.RNN, GRU or LSTM of these weights
    torch.sparse      PyTorch's sparse CSR products, which are cuSPARSE's on a GPU

--glue says what the cell is for all but cuDNN: `inductor` compiles it to one kernel, `eager` are PyTorch's own kernels.
Every side's last states are compared with a float64 run, sequence by sequence: of the first call, in poisoned memory
(without compiled cells), and of the last one timed. `product` is the time of one recurrent product alone.
"""

from typing import Callable, NamedTuple

import torch
from contest import OURS, Side, bytes_of, device_here, drive, fill_lists, parser_of, precision, raced, worst_line
from dense_numbers import DENSE, Numbers
from torch import nn
from torch.nn import functional

import vostok.torch as vt

NUMBERS = {
    "fp32": Numbers(torch.float32, False, 5e-5),
    "tf32": Numbers(torch.float32, True, 3e-2),
    "f16": Numbers(torch.float16, False, 3e-2),
}


def rnn(from_input, from_state, state):
    return (torch.tanh(from_input + from_state),)


def gru(from_input, from_state, state):
    (reset, update, new), (reset_state, update_state, new_state) = (
        part.chunk(3, -1) for part in (from_input, from_state)
    )
    update = torch.sigmoid(update + update_state)
    new = torch.tanh(new + torch.sigmoid(reset + reset_state) * new_state)
    return (new + update * (state - new),)


def lstm(from_input, from_state, state, memory):
    enter, forget, new, leave = (from_input + from_state).chunk(4, -1)
    memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(leave) * torch.tanh(memory), memory


class Cell(NamedTuple):
    function: Callable  # (products of the input and of the state, state..) -> the next state..
    gates: int
    states: int
    module: type


CELLS = {
    "lstm": Cell(lstm, 4, 2, nn.LSTM),
    "gru": Cell(gru, 3, 1, nn.GRU),
    "rnn": Cell(rnn, 1, 1, nn.RNN),
}


def run(x, states, of_input, of_state, function):
    """x [steps, batch, inputs], states [batch, width] each, of_input and of_state: linear functions -> last states"""
    from_input = of_input(x.flatten(0, 1)).view(*x.shape[:2], -1)
    for step in range(x.shape[0]):
        states = function(from_input[step], of_state(states[0]), *states)
    return states


class Case:
    """Weights, a batch of sequences, and what is right."""

    def __init__(self, options, case, glue, device):
        self.options, self.case, self.glue, self.device = options, case, glue, device
        self.cell = CELLS[case["cell"]]
        width = case["states"]
        rows = self.cell.gates * width
        generator = torch.Generator(device).manual_seed(11)
        self.dtype = NUMBERS[DENSE[case["element"]][0]].dtype

        def drawn(*shape, deviation=1.0):
            return torch.empty(shape, device=device).normal_(0, deviation, generator=generator)

        def weight(gain):
            share = 1 - case["sparsity"]
            kept = torch.rand(rows, width, device=device, generator=generator) < share
            return drawn(rows, width, deviation=gain * (width * share) ** -0.5).mul_(kept).to(self.dtype)

        self.of_input, self.of_state = weight(1.0), weight(0.7)  # the state's influence dies away
        self.bias = drawn(rows, deviation=0.1).to(self.dtype)
        self.x = drawn(options.steps, case["batch"], width).to(self.dtype)
        self.first = [torch.zeros(case["batch"], width, device=device, dtype=self.dtype)] * self.cell.states
        x, bias, first = self.x.double(), self.bias.double(), [state.double() for state in self.first]
        self.exact = run(
            x, first, *self.linear(self.of_input.double(), self.of_state.double(), bias), self.cell.function
        )

    def linear(self, of_input, of_state, bias):
        """Dense products, or those of torch.sparse where a weight is sparse."""
        return (
            lambda x: functional.linear(x, of_input, bias),
            lambda state: functional.linear(state, of_state),
        )

    def judge(self, *states):
        return max(map(worst_line, states, self.exact))

    def side(self, numbers, products, own_bytes):
        """Over these products, with the cell as --glue says."""
        chosen, glue, plain = NUMBERS[numbers], self.glue(self.cell.function), self.cell.function

        def with_cell(function):
            def call():
                with precision(chosen.tf32):
                    return run(self.x, self.first, *products, function)

            return call

        def product():
            with precision(chosen.tf32):
                return (products[1](self.first[0]),)

        compiled = glue is not plain
        return Side(
            with_cell(glue),
            self.judge,
            chosen.tolerance,
            own_bytes + bytes_of(self.x, self.bias, *self.first),
            compiled=compiled,
            plain=with_cell(plain) if compiled else None,
            parts={"product": product},
        )

    def ours(self):
        steps, batch, _ = self.x.shape
        layers = [
            frozen(self.of_input, self.bias, steps * batch),
            frozen(self.of_state, None, batch),
        ]
        return self.side(DENSE[self.case["element"]][0], layers, sum(layer.packed.nbytes for layer in layers))

    def cublas(self, numbers):
        weights = self.of_input, self.of_state
        return self.side(numbers, self.linear(*weights, self.bias), bytes_of(*weights))

    def torch_sparse(self):
        weights = [weight.to_sparse_csr() for weight in (self.of_input, self.of_state)]
        own = sum(bytes_of(part.values(), part.crow_indices(), part.col_indices()) for part in weights)
        return self.side(DENSE[self.case["element"]][0], self.linear(*weights, self.bias), own)

    def cudnn(self, numbers):
        chosen, width = NUMBERS[numbers], self.case["states"]
        module = self.cell.module(width, width, device=self.device, dtype=self.dtype)
        for parameter, value in (
            (module.weight_ih_l0, self.of_input),
            (module.weight_hh_l0, self.of_state),
            (module.bias_ih_l0, self.bias),
            (module.bias_hh_l0, 0),
        ):
            parameter.copy_(torch.as_tensor(value, device=self.device))
        first = [state[None].contiguous() for state in self.first]

        def call():
            with precision(chosen.tf32):
                last = module(self.x, tuple(first) if len(first) > 1 else first[0])[1]
            return tuple(state[0] for state in (last if len(first) > 1 else (last,)))

        own = bytes_of(self.x, *module.parameters(), *first)
        return Side(call, self.judge, chosen.tolerance, own)

    def sides(self):
        """By name, as functions that make them."""
        sides = {}
        for numbers in DENSE[self.case["element"]]:
            sides[f"cublas {numbers}"] = lambda numbers=numbers: self.cublas(numbers)
            sides[f"cudnn {numbers}"] = lambda numbers=numbers: self.cudnn(numbers)
        sides["torch.sparse"] = self.torch_sparse
        sides[OURS] = self.ours
        return sides


def frozen(weight, bias, tokens):
    """A sparse layer packed for so many rows of its input."""
    outputs, inputs = weight.shape
    with torch.device("meta"):
        linear = nn.Linear(inputs, outputs, bias=bias is not None)
    linear.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        linear.bias = nn.Parameter(bias, requires_grad=False)
    return vt.SparseLinear.from_dense(linear).freeze(tokens)


def glued(kind):
    """What makes a cell of its function: one for all cases, so that each is compiled once."""
    made = {}

    def glue(function):
        if kind == "eager":
            return function
        if function not in made:
            made[function] = torch.compile(function, backend=kind, dynamic=True, fullgraph=True)
        return made[function]

    return glue


def parse():
    parser = parser_of(__doc__)
    parser.add_argument("--cell", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--states", type=int, nargs="+", default=[1024, 2048, 4096, 8192])
    parser.add_argument("--sparsity", type=float, nargs="+", help="0.9, 0.8 and 0.7")
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--element", nargs="+", choices=DENSE, help="all")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument(
        "--glue",
        choices=("eager", "inductor", "aot_eager"),
        default="inductor" if device_here() == "cuda" else "eager",
        help="what the cell is: PyTorch's kernels, or compiled, for all sides but cuDNN",
    )
    options = parser.parse_args()
    full = {"sparsity": [0.9, 0.8, 0.7], "element": list(DENSE)}
    fill_lists(options, full, {"sparsity": [0.8], "element": ["f32"]})
    if options.tiny:
        options.states, options.batch, options.steps = [32], [4], 3
    return options


@torch.no_grad()
def main():
    options = parse()
    device = device_here()
    glue = glued(options.glue)
    cases = [
        {"cell": cell, "states": states, "sparsity": sparsity, "batch": batch, "element": element}
        for element in options.element
        for states in options.states
        for cell in options.cell
        for sparsity in options.sparsity
        for batch in options.batch
    ]

    def measure(case):
        row = raced(Case(options, case, glue, device).sides(), options, device)
        for side in row["sides"].values():
            side["step_us"] = side["median_us"] / options.steps
        return row

    problem = {"steps": options.steps, "glue": options.glue}
    drive("recurrent", options, problem, cases, measure, keeps_compiled=True)


if __name__ == "__main__":
    main()
