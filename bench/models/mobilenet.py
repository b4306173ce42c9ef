"""Sparse MobileNetV1 beside the dense one: frames a second, and the paper's pairs of equal accuracy.

    python mobilenet.py --json mobilenet.json                   # an H200: pairs of widths, batch 1, 8 and 64
    python mobilenet.py --pairs 1.3:1.0 --batch 1 --element f32 --compiled
    python mobilenet.py --weights ../shared/data/mobilenetv1    # trained weights, width 1.0
    python mobilenet.py --tiny                                  # sizes for the emulator

A pair is the width of the sparse network and that of the dense one that it is compared with: 1.3:1.0, 1.5:1.2 and
1.8:1.4 are as accurate as each other, says the paper. 1x1 convolutions of the sparse network have 90 % zeros, the first
layer and the classifier are dense. Batch norm is folded in. The sides, CUDA graphs on a GPU, timed in turns:

    vostok           images lie [channels, batch, height, width]: each 1x1 convolution is one sparse product with bias
                     and ReLU, weights packed once; 3x3 ones are vostok's depthwise convolution with bias and ReLU.
                     The first layer is cuDNN's, or patches and a product, whichever is faster.
                     `vostok strict` and `vostok tf32`: with other math, in float32. `vostok by image`: images lie
                     [batch, channels, height, width], a product for each
    masked dense     the sparse network's function in PyTorch, zeros stored
    fp32, tf32, f16  the dense network in PyTorch, NCHW or NHWC: `eager` as one writes it, `fused` by cuDNN's
                     convolutions with bias and ReLU, `compiled` by torch.compile (with --compiled)

Logits of every side are compared with a float64 forward pass of its own network, image by image: of the first call, in
poisoned memory, and of the last one timed. Weights are made of seeds; --weights FOLDER reads trained ones of width 1.0,
in which the first layer, the last 1x1 convolution and the classifier are missing and made, as the row says.
"""

import functools
from collections import Counter

import torch
from contest import (
    OURS,
    Side,
    add_effort,
    bytes_of,
    device_here,
    drive,
    fastest,
    fill_lists,
    parser_of,
    precision,
    raced,
    worst_line,
)
from dense_numbers import DENSE, Numbers
from layers import Columns, Depthwise, Pointwise, ready
from mobilenet_weights import made, trained
from torch.nn import functional

NUMBERS = {
    "fp32": Numbers(torch.float32, False, 5e-5),
    "tf32": Numbers(torch.float32, True, 5e-2),
    "f16": Numbers(torch.float16, False, 5e-2),
}
OURS_IN = {
    "f32": {"": ("accurate", "fp32"), " strict": ("strict", "fp32"), " tf32": ("tf32", "tf32")},
    "f16": {"": ("accurate", "f16")},
}


def convolved(x, weight, bias, stride, padding, groups):
    """relu(convolution + bias), as one writes it."""
    return functional.conv2d(x, weight, bias, stride, padding, 1, groups).relu_()


def convolved_at_once(x, weight, bias, stride, padding, groups):
    """The same in one call of cuDNN."""
    return torch.cudnn_convolution_relu(x, weight, bias, (stride,) * 2, (padding,) * 2, (1, 1), groups)


def dense_forward(x, network, convolve):
    """x [images, 3, height, width] -> logits [images, classes]"""
    x = convolve(x, network.first, network.first_bias, 2, 1, 1)
    for block in network.blocks:
        x = convolve(x, block.filters, block.filter_bias, block.stride, 1, x.shape[1])
        x = convolve(x, block.weight, block.bias, 1, 0, 1)
    return torch.addmm(network.classifier_bias, x.mean((2, 3)), network.classifier.t())


def first_layer(network, images, math):
    """The dense first layer, by the fastest way that there is here, and its name."""
    weight, bias = network.first, network.first_bias
    columns = Columns(images, 2)
    places = columns.shape[2] * columns.shape[3]
    product = Pointwise(weight.flatten(1), bias, images.shape[0], places, math, by_image=True)
    ready([columns, product])
    ways = {
        "patches": lambda x: product(columns(x)),
        "fused": lambda x: convolved_at_once(x, weight, bias, 2, 1, 1),
        "eager": lambda x: convolved(x, weight, bias, 2, 1, 1),
    }
    name = fastest({name: functools.partial(way, images) for name, way in ways.items()}, device_here())
    return ways[name], name


class Sparse:
    """The network by sparse products and depthwise convolutions."""

    def __init__(self, network, images, math, by_image, effort):
        self.network, self.by_image = network, by_image
        self.first, self.first_name = first_layer(network, images, math)
        self.layers = []
        count, _, size, _ = images.shape
        size = (size - 1) // 2 + 1
        for block in network.blocks:
            filters = block.filters.squeeze(1).contiguous()
            self.layers.append(Depthwise(filters, block.filter_bias, count, size, block.stride, by_image))
            size = self.layers[-1].size
            self.layers.append(Pointwise(block.weight.flatten(1), block.bias, count, size * size, math, by_image))
        ready(self.layers, *effort)

    def __call__(self, images):
        network = self.network
        x = self.first(images)
        x = x if self.by_image else x.transpose(0, 1).contiguous()
        for layer in self.layers:
            x = layer(x)
        pooled = x.mean((2, 3))
        pooled = pooled if self.by_image else pooled.t()
        return torch.addmm(network.classifier_bias, pooled, network.classifier.t())

    def facts(self):
        """How many layers which of our kernels compute, and where these choices are from."""
        plans = [layer.plan for layer in self.layers]
        return {
            "first_layer": self.first_name,
            "families": dict(Counter(plan.family for plan in plans)),
            "provenance": dict(Counter(plan.provenance for plan in plans)),
        }

    def bytes(self):
        """Of PyTorch's tensors; packed weights are memory of the library's."""
        filters = sum(layer.filters.nbytes for layer in self.layers if isinstance(layer, Depthwise))
        return filters + bytes_of(self.network.first, self.network.classifier)


class Case:
    """Networks, images, and what is right."""

    def __init__(self, options, case, device):
        self.options, self.case, self.device = options, case, device
        generator = torch.Generator(device).manual_seed(7)
        shape = (case["batch"], 3, options.image, options.image)
        self.images = torch.empty(shape, device=device).normal_(generator=generator)
        sparse_width, dense_width = case["sparse_width"], case["dense_width"]
        self.made_parts = ["all"]
        if options.weights:
            self.sparse, self.made_parts = trained(options.weights, options.blocks, device)
        else:
            self.sparse = made(sparse_width, options.blocks, 0.9, device)
        self.dense = made(dense_width, options.blocks, 0.0, device)
        self.references = {}

    def reference(self, which, dtype):
        """Logits in float64 of the weights and images as they are in this type."""
        if (which, dtype) not in self.references:
            wide = getattr(self, which).to(dtype).to(torch.float64)
            self.references[which, dtype] = dense_forward(self.images.to(dtype).double(), wide, convolved)
        return self.references[which, dtype]

    def side(self, which, numbers, forward, own_bytes, **more):
        """forward: images -> logits"""
        chosen = NUMBERS[numbers]
        exact = self.reference(which, chosen.dtype)

        def call():
            with precision(chosen.tf32):
                return (forward(),)

        return Side(call, lambda y: worst_line(y, exact), chosen.tolerance, own_bytes, **more)

    def ours(self, math, numbers, by_image=False):
        dtype, tf32, _ = NUMBERS[numbers]
        images = self.images.to(dtype)
        effort = self.options.effort, self.options.effort_seconds
        with precision(tf32):
            network = Sparse(self.sparse.to(dtype), images, math, by_image, effort)
        facts = {"math": math} | network.facts()
        return self.side("sparse", numbers, lambda: network(images), network.bytes() + images.nbytes, facts=facts)

    def theirs(self, which, numbers, layout, kind):
        dtype = NUMBERS[numbers].dtype
        memory = torch.channels_last if layout == "NHWC" else torch.contiguous_format
        network = getattr(self, which).to(dtype, memory)
        images = self.images.to(dtype).contiguous(memory_format=memory)
        convolve = convolved_at_once if kind == "fused" else convolved
        forward = torch.compile(dense_forward, dynamic=False) if kind == "compiled" else dense_forward
        own = network.bytes() + images.nbytes
        compiled = kind == "compiled"
        return self.side(which, numbers, lambda: forward(images, network, convolve), own, compiled=compiled)

    def sides(self):
        """By name, as functions that make them."""
        element = self.case["element"]
        first = DENSE[element][0]
        kinds = ("eager", "fused") if self.device == "cuda" else ("eager",)
        kinds += ("compiled",) if self.options.compiled else ()
        sides = {
            f"{numbers} {layout} {kind}": lambda numbers=numbers, layout=layout, kind=kind: self.theirs(
                "dense", numbers, layout, kind
            )
            for numbers in DENSE[element]
            for layout in ("NCHW", "NHWC")
            for kind in kinds
        }
        sides["masked dense"] = lambda: self.theirs("sparse", first, "NCHW", "eager")
        for name, (math, numbers) in OURS_IN[element].items():
            sides[OURS + name] = lambda math=math, numbers=numbers: self.ours(math, numbers)
        if self.case["batch"] > 1:
            sides[f"{OURS} by image"] = lambda: self.ours("accurate", first, by_image=True)
        return sides


def described(row, case, sparse, made_parts):
    """A row with what follows from its times: the dense network's best way, for each kind of numbers."""
    for side in row["sides"].values():
        side["frames_s"] = case["batch"] / (side["median_us"] / 1e6)
    best = {}
    for numbers in DENSE[case["element"]]:
        names = [name for name in row["sides"] if name.startswith(f"{numbers} ")]
        if names:
            name = min(names, key=lambda name: row["sides"][name]["median_us"])
            best[numbers] = {"side": name, "speedup": row["speedups"][name]}
    return {"made": made_parts, "zeros": sparse.zeros(), "best_dense": best} | row


def pair(text):
    """SPARSE:DENSE widths."""
    sparse, _, dense = text.partition(":")
    return float(sparse), float(dense or sparse)


def parse():
    parser = parser_of(__doc__)
    default = ["1.0:1.0", "1.3:1.0", "1.5:1.2", "1.8:1.4"]
    parser.add_argument(
        "--pairs", nargs="+", type=pair, default=[pair(text) for text in default], metavar="WIDTH:WIDTH"
    )
    parser.add_argument("--batch", type=int, nargs="+", help="1, 8 and 64")
    parser.add_argument("--element", nargs="+", choices=DENSE, help="all")
    parser.add_argument("--image", type=int, default=224, help="height and width of the images")
    parser.add_argument("--blocks", type=int, default=13, help="how many of the 13 blocks there are")
    parser.add_argument("--weights", help="a folder with trained weights, of width 1.0")
    add_effort(parser)
    parser.add_argument("--compiled", action="store_true", help="the dense network by torch.compile, too")
    options = parser.parse_args()
    fill_lists(options, {"batch": [1, 8, 64], "element": list(DENSE)}, {"batch": [2]})
    if options.tiny:
        options.image, options.blocks = 16, 3
        options.pairs = [(0.5, 0.25)] if not options.weights else [(1.0, 0.25)]
    if options.weights:
        options.pairs = [widths for widths in options.pairs if widths[0] == 1.0]
    return options


@torch.no_grad()
def main():
    options = parse()
    device = device_here()
    torch.backends.cudnn.benchmark = True
    sizes = {"image": options.image, "blocks": options.blocks, "sparsity": 0.9}
    problem = sizes | {"trained": bool(options.weights), "effort": options.effort}
    cases = [
        {"element": element, "batch": batch, "sparse_width": sparse, "dense_width": dense}
        for batch in options.batch
        for sparse, dense in options.pairs
        for element in options.element
    ]

    def measure(case):
        made_case = Case(options, case, device)
        row = raced(made_case.sides(), options, device)
        return described(row, case, made_case.sparse, made_case.made_parts)

    drive("mobilenet", options, problem, cases, measure)


if __name__ == "__main__":
    main()
