"""Attention alone, of one layer, beside PyTorch's: ours over a mask, FlexAttention, and the dense kernel without a mask.

    python attention.py --json attention.json               # an H200: 12,288 tokens, 8 heads of 64 and 128, bf16
    python attention.py --mask paper random-99 --size 128 --numbers f16 bf16
    python attention.py --train                             # with the gradients by queries, keys and values
    python attention.py --tiny                              # sizes for the emulator

Queries, keys and values lie as the product that makes them leaves them: [tokens, heads, 3, size]. The sides:

    vostok            ours, over the mask
    vostok composed   ours in steps, scores in memory between them: what one kernel must not be slower than; no gradients
    flex              FlexAttention, compiled, with the same mask
    sdpa dense        the fastest of scaled_dot_product_attention without the mask, causal where the mask is

All are CUDA graphs on a GPU, timed in turns, and compared with float64: of the first call, in poisoned memory, and of
the last one timed.
"""

import attentions
import masks
import torch
from contest import OURS, Side, add_effort, bytes_of, device_here, drive, fill_lists, measured, parser_of, precision, raced
from dense_numbers import Numbers

import vostok.torch as vt

NUMBERS = {
    "fp32": Numbers(torch.float32, False, 1e-5),
    "f16": Numbers(torch.float16, False, 3e-3),
    "bf16": Numbers(torch.bfloat16, False, 2e-2),
}
MASKS = ["paper", "random-98", "random-99", "random-99.5", "window", "bigbird", "causal"]


class Case:
    """Queries, keys and values under a mask, and what is right."""

    def __init__(self, options, case, mask, device):
        self.options, self.mask, self.device, self.train = options, mask, device, case["train"]
        self.numbers = NUMBERS[case["numbers"]]
        generator = torch.Generator(device).manual_seed(3)
        shape = (options.tokens, options.heads, 3, case["size"])
        self.qkv = torch.empty(shape, device=device).normal_(generator=generator).to(self.numbers.dtype)
        self.gradient = torch.empty(options.tokens, options.heads * case["size"], device=device)
        self.gradient = self.gradient.normal_(generator=generator).to(self.numbers.dtype)
        self.references = {}

    def computed(self, attend, qkv, gradient):
        """The output and, for a training step, the gradient by queries, keys and values."""
        y = attend(qkv)
        return (y.detach(), *torch.autograd.grad(y, qkv, gradient)) if self.train else (y,)

    def reference(self, masked):
        """In float64; with all keys, or those before the query, where not masked."""
        if masked not in self.references:
            places = self.mask.dense()
            if not masked:
                places = torch.ones_like(places).tril_() if self.mask.causal else torch.ones_like(places)
            qkv = self.qkv.double()[None].requires_grad_(self.train)
            found = self.computed(attentions.exact(places).attend, qkv, self.gradient.double()[None])
            self.references[masked] = tuple(tensor.detach().squeeze(0) for tensor in found)
        return self.references[masked]

    def side(self, way, masked=True):
        at = 1 if way.tokens_first else 0
        qkv = self.qkv.unsqueeze(at).detach().requires_grad_(self.train)
        gradient = self.gradient.unsqueeze(at)
        exact = self.reference(masked)

        def call():
            with precision(self.numbers.tf32):
                return self.computed(way.attend, qkv, gradient)

        def judge(*found):
            return max(measured.distance(tensor.squeeze(at), right) for tensor, right in zip(found, exact))

        own = bytes_of(qkv) + way.own_bytes
        return Side(call, judge, self.numbers.tolerance, own, compiled=way.compiled, facts=way.facts)

    def ours(self):
        sizes = 1, self.options.heads, self.qkv.shape[-1]
        attentions.tuned(self.mask, "accurate", self.numbers.dtype, *sizes, self.options)
        side = self.side(attentions.sparse(self.mask, "accurate"))
        side.call()
        plans = vt.explain(self.mask.csr).split("\n- ")[1:]
        side.facts = {"plans": [plan.splitlines() for plan in plans]}
        return side

    def composed(self):
        return self.side(attentions.composed(self.mask, "accurate", self.qkv[:, None], self.options))

    def sides(self):
        """By name, as functions that make them."""
        batched = self.qkv[None]
        way = attentions.sdpa
        return {
            OURS: self.ours,
            f"{OURS} composed": self.composed,
            "flex": lambda: self.side(attentions.flex(self.mask, self.device)),
            "sdpa dense": lambda: self.side(
                way(self.mask, self.numbers.dtype, batched, self.numbers.tf32, False, self.train), masked=False
            ),
        }


def parse():
    parser = parser_of(__doc__)
    parser.add_argument("--tokens", type=int, default=12288)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--size", type=int, nargs="+", help="of a head: 64 and 128")
    parser.add_argument("--mask", nargs="+", help=f"{masks.NAMES}: {' '.join(MASKS)}")
    parser.add_argument("--numbers", nargs="+", choices=NUMBERS, help="what is computed in (bf16)")
    parser.add_argument("--train", action="store_true", help="with the gradients by queries, keys and values")
    add_effort(parser)
    options = parser.parse_args()
    full = {"size": [64, 128], "mask": MASKS, "numbers": ["bf16"]}
    fill_lists(options, full, {"size": [16], "mask": ["paper", "bigbird"], "numbers": ["fp32", "bf16"]})
    if options.tiny:
        options.tokens, options.heads = 40, 2
    return options


def main():
    options = parse()
    device = device_here()
    cases = [
        {"mask": mask, "numbers": numbers, "size": size, "train": options.train}
        for mask in options.mask
        for numbers in options.numbers
        for size in options.size
    ]
    mask_of = masks.keeping_last(options.tokens, device, options.tiny)

    def measure(case):
        mask = mask_of(case["mask"])
        with torch.set_grad_enabled(options.train):
            row = raced(Case(options, case, mask, device).sides(), options, device)
        return mask.facts() | row

    drive("attention", options, {"tokens": options.tokens, "heads": options.heads}, cases, measure)


if __name__ == "__main__":
    main()
