"""The paper's sparse Transformer beside its dense twins: tokens a second, peak memory, attention's share of the time.

    python transformer.py --json transformer.json               # an H200: 3 layers, hidden 1024, 12,288 tokens
    python transformer.py --mask paper --numbers fp32 bf16 --batch 1
    python transformer.py --train --numbers fp32 bf16           # forward and backward
    python transformer.py --tiny                                # sizes for the emulator

Layers are as the paper has them: 8 heads, a filter of 4096 with ReLU, norms in front, one mask for all heads. The sides
share weights and inputs, and differ in attention alone:

    vostok         ours, over the mask's elements; queries, keys and values are read where one product left them.
                   In float32 by `accurate` math; `vostok strict` and `vostok tf32` by other
    vostok packed  the same after copies into tensors of their own (with --packed)
    materialised   scores and probabilities in memory, masked; left out where they do not fit, which is computed before
    sdpa           PyTorch's scaled_dot_product_attention with the mask; the row tells the backend
    sdpa dense     the same without the mask: the dense model, which computes something else, checked against itself
    flex           FlexAttention, compiled, with the same mask

--numbers says what is computed in: float32, with PyTorch's products in fp32 or TF32; f16, bf16. All sides are CUDA
graphs on a GPU, timed in turns. Every side is compared with a float64 forward pass, token by token: the first call in
poisoned memory, and the last one timed. With --train the loss and the gradients by all weights and the input are
compared, each as a whole.
"""

from typing import NamedTuple

import attentions
import masks
import torch
from contest import (
    OURS,
    Side,
    add_effort,
    bytes_of,
    device_here,
    drive,
    fill_lists,
    measured,
    parser_of,
    precision,
    raced,
    worst_line,
)
from torch.nn import functional

import vostok.torch as vt


class Numbers(NamedTuple):
    dtype: torch.dtype
    math: tuple = ("accurate",)  # of our attention
    tf32: bool = False  # of PyTorch's products
    tolerance: float = 2e-5  # of the worst token
    gradient_tolerance: float = 1e-3  # 12,288 tokens: PyTorch's own sides reach 4e-4


NUMBERS = {
    "fp32": Numbers(torch.float32, ("accurate", "strict")),
    "tf32": Numbers(torch.float32, ("accurate", "tf32"), True, 1e-2, 3e-2),
    "f16": Numbers(torch.float16, tolerance=1e-2, gradient_tolerance=8e-2),
    "bf16": Numbers(torch.bfloat16, tolerance=8e-2, gradient_tolerance=2e-1),
}
SIZES = ("layers", "heads", "hidden", "filter", "tokens", "packed", "effort")
MASKS = ("paper", "random-98", "random-99", "random-99.5", "window")


class Layer(NamedTuple):
    """Weights [out, in]; rows of qkv are ordered head, (query, key, value), element."""

    qkv: torch.Tensor
    output: torch.Tensor
    up: torch.Tensor
    up_bias: torch.Tensor
    down: torch.Tensor
    norm: torch.Tensor  # [2, 2, hidden]: weight and bias of both norms


def random_layers(options, dtype, device):
    """Made of seeds; outputs of a row have the variance of its inputs."""
    hidden, inner = options.hidden, options.filter
    generator = torch.Generator(device).manual_seed(3)

    def drawn(*shape, deviation=None):
        deviation = shape[-1] ** -0.5 if deviation is None else deviation
        return torch.empty(shape, device=device).normal_(0, deviation, generator=generator).to(dtype)

    def made():
        norm = drawn(2, 2, hidden, deviation=0.1)
        norm[:, 0] += 1
        return Layer(
            drawn(3 * hidden, hidden),
            drawn(hidden, hidden),
            drawn(inner, hidden),
            drawn(inner, deviation=0.1),
            drawn(hidden, inner),
            norm,
        )

    return [made() for _ in range(options.layers)]


def forward(x, layers, heads, attend, in_place=True):
    """x [first, second, hidden], as `attend` wants tokens and sequences -> the same. What is between the products is in
    them where it can be: bias and ReLU, and the residual, which is added to in place where no gradient is wanted."""
    shape = x.shape
    flat = x.reshape(-1, shape[-1])
    for index, layer in enumerate(layers):
        add = flat.addmm_ if in_place and index else flat.addmm
        flat = add(attend(queries_keys_values(flat, layer, shape, heads)).reshape(flat.shape), layer.output.t())
        add = flat.addmm_ if in_place else flat.addmm
        flat = add(filtered(normed(flat, layer.norm[1]), layer, in_place), layer.down.t())
    return flat.view(shape)


def normed(x, norm):
    return functional.layer_norm(x, x.shape[-1:], norm[0], norm[1])


def queries_keys_values(flat, layer, shape, heads):
    """[first, second, heads, 3, size]"""
    return functional.linear(normed(flat, layer.norm[0]), layer.qkv).view(*shape[:2], heads, 3, -1)


def filtered(x, layer, fused):
    """relu(x W^T + b); PyTorch's product with ReLU in its epilogue has no gradient."""
    if fused:
        return torch._addmm_activation(layer.up_bias, x, layer.up.t())
    return torch.relu(torch.addmm(layer.up_bias, x, layer.up.t()))


def loss_and_gradients(x, target, layers, heads, attend):
    """Half the squared distance from the target over the root of the count of tokens; gradients by x and weights."""
    y = forward(x, layers, heads, attend, in_place=False)
    wide = torch.promote_types(y.dtype, torch.float32)
    loss = (y.to(wide) - target.to(wide)).square().sum() * (0.5 * x.shape[:2].numel() ** -0.5)
    return loss.detach(), *torch.autograd.grad(loss, [x, *(weight for layer in layers for weight in layer)])


class Model:
    """One case: weights, inputs, what is right, and a side for each way of attention."""

    def __init__(self, options, case, mask, device):
        self.options, self.mask, self.device = options, mask, device
        self.numbers = NUMBERS[case["numbers"]]
        self.train = case["train"]
        self.layers = random_layers(options, self.numbers.dtype, device)
        generator = torch.Generator(device).manual_seed(2)
        shape = (case["batch"], options.tokens, options.hidden)
        self.x, self.target = (
            torch.empty(shape, device=device).normal_(generator=generator).to(self.numbers.dtype) for _ in range(2)
        )
        if self.train:
            for tensor in (self.x, *(weight for layer in self.layers for weight in layer)):
                tensor.requires_grad_()
        self.references = {}

    def reference(self, masked):
        """In float64: tokens, or loss and gradients; with all keys where not masked."""
        if masked not in self.references:
            places = self.mask.dense()
            if not masked:
                places = torch.ones_like(places).tril_() if self.mask.causal else torch.ones_like(places)
            attend = attentions.exact(places).attend
            x, target = self.x.detach().double(), self.target.double()
            layers = [Layer(*(weight.detach().double() for weight in layer)) for layer in self.layers]
            if self.train:
                for tensor in (x, *(weight for layer in layers for weight in layer)):
                    tensor.requires_grad_()
                self.references[masked] = loss_and_gradients(x, target, layers, self.options.heads, attend)
            else:
                self.references[masked] = (forward(x, layers, self.options.heads, attend),)
        return self.references[masked]

    def side(self, way, masked=True):
        """The whole model with this way of attention."""
        heads, numbers = self.options.heads, self.numbers
        x, target = (tensor.transpose(0, 1).contiguous() if way.tokens_first else tensor
                     for tensor in (self.x.detach(), self.target))  # fmt: skip
        x.requires_grad_(self.train)
        exact = self.reference(masked)

        def call():
            with precision(numbers.tf32):
                if self.train:
                    return loss_and_gradients(x, target, self.layers, heads, way.attend)
                return (forward(x, self.layers, heads, way.attend),)

        def judge(*found):
            if not self.train:
                return worst_line(found[0].transpose(0, 1) if way.tokens_first else found[0], exact[0])
            loss, gradient, *weights = found
            gradient = gradient.transpose(0, 1) if way.tokens_first else gradient
            return max(map(measured.distance, (loss, gradient, *weights), exact))

        def attention_alone():
            with torch.no_grad(), precision(numbers.tf32):
                return (way.attend(qkv),)

        with torch.no_grad():
            qkv = queries_keys_values(x.reshape(-1, x.shape[-1]), self.layers[0], x.shape, heads)
        return Side(
            call,
            judge,
            numbers.gradient_tolerance if self.train else numbers.tolerance,
            own_bytes=bytes_of(x, *(weight for layer in self.layers for weight in layer)) + way.own_bytes,
            compiled=way.compiled,
            facts=way.facts,
            parts={} if self.train else {"attention": attention_alone},
        )

    def ours(self, math):
        """With our attention, its kernels tuned before where that is asked for; which they are, its facts tell."""
        options, mask = self.options, self.mask
        sizes = self.x.shape[0], options.heads, options.hidden // options.heads
        attentions.tuned(mask, math, self.numbers.dtype, *sizes, options)
        side = self.side(attentions.sparse(mask, math))
        side.call()
        plans = vt.explain(mask.csr).split("\n- ")[1:]
        side.facts = {"math": math, "plans": [plan.splitlines() for plan in plans if f"math='{math}'" in plan]}
        return side

    def sides(self):
        """By name, as functions: what a side needs is made when its turn comes."""
        numbers, mask, options = self.numbers, self.mask, self.options
        batch = self.x.shape[0]
        layers = options.layers if self.train else None
        need = attentions.materialised_bytes(batch, options.heads, options.tokens, numbers.dtype, layers)
        with torch.no_grad():
            qkv = queries_keys_values(self.x.flatten(0, 1), self.layers[0], self.x.shape, options.heads)

        def fused(masked):
            return attentions.sdpa(mask, numbers.dtype, qkv, numbers.tf32, masked, self.train)

        sides = {
            "sdpa dense": lambda: self.side(fused(False), masked=False),
            "sdpa": lambda: self.side(fused(True)),
        }
        for math in numbers.math:
            name = OURS if math == "accurate" else f"{OURS} {math}"
            sides[name] = lambda math=math: self.ours(math)
        if options.packed:
            sides[f"{OURS} packed"] = lambda: self.side(attentions.sparse(mask, "accurate", packed=True))
        # The last one takes what memory the others leave.
        return sides | {
            "flex": lambda: self.side(attentions.flex(mask, self.device)),
            "materialised": lambda: self.side(attentions.materialised(mask, numbers.dtype, need, self.device)),
        }


def described(row, case, options, mask):
    """A row with what follows from its times."""
    tokens = case["batch"] * options.tokens
    for side in row["sides"].values():
        side["tokens_s"] = tokens / (side["median_us"] / 1e6)
        if "attention" in side:
            side["attention_share"] = options.layers * side["attention"]["median_us"] / side["median_us"]
    return mask.facts() | row


def parse():
    parser = parser_of(__doc__)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--filter", type=int, default=4096)
    parser.add_argument("--tokens", type=int, default=12288)
    parser.add_argument("--batch", type=int, nargs="+", help="1 and 8")
    parser.add_argument("--mask", nargs="+", help=f"{masks.NAMES}: {' '.join(MASKS)}")
    parser.add_argument("--numbers", nargs="+", choices=NUMBERS, help="all")
    add_effort(parser)
    parser.add_argument("--packed", action="store_true", help="ours with copies of queries, keys and values, too")
    parser.add_argument("--train", action="store_true", help="a training step: forward and backward")
    options = parser.parse_args()
    full = {"batch": [1, 8], "mask": MASKS, "numbers": list(NUMBERS)}
    fill_lists(options, full, {"batch": [2], "mask": ["paper", "window"], "numbers": ["fp32", "bf16"]})
    if options.tiny:
        options.layers, options.heads, options.hidden, options.filter, options.tokens = 2, 2, 16, 32, 40
    return options


def main():
    options = parse()
    device = device_here()
    sizes = {name: getattr(options, name) for name in SIZES}
    cases = [
        {"mask": mask, "numbers": numbers, "batch": batch, "train": options.train}
        for batch in options.batch
        for mask in options.mask
        for numbers in options.numbers
    ]
    mask_of = masks.keeping_last(options.tokens, device, options.tiny)

    def measure(case):
        mask = mask_of(case["mask"])
        with torch.set_grad_enabled(options.train):
            row = raced(Model(options, case, mask, device).sides(), options, device)
        return described(row, case, options, mask)

    drive("transformer", options, sizes, cases, measure)


if __name__ == "__main__":
    main()
