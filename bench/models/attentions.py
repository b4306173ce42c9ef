"""Ways to compute attention from one product of queries, keys and values: ours over a sparse mask, and PyTorch's.

Each way takes [first, second, heads, 3, size] and gives [first, second, heads * size]. `first` and `second` are tokens
and sequences where the heads of all sequences lie side by side, as ours reads them without copies, else sequences and
tokens, as PyTorch's kernels want them.
"""

import dataclasses
import sys
from typing import Callable, NamedTuple

import torch
from contest import LeftOut, context, measured, precision, stream
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

import vostok
import vostok.torch as vt


class Way(NamedTuple):
    attend: Callable
    tokens_first: bool = False
    own_bytes: int = 0  # of the mask, as this way reads it
    compiled: bool = False
    facts: dict = {}


def _problems(math, dtype, heads, size):
    """Heads of all sequences, as the product that makes queries, keys and values leaves them, and packed."""
    element = str(dtype).replace("torch.float", "f").replace("torch.bfloat", "bf")
    packed = vostok.SparseAttention(n=size, value_size=size, batch=heads, element=element, math=math)
    leading, stride = heads * 3 * size, 3 * size
    between = dataclasses.replace(
        packed,
        query_leading=leading,
        query_stride=stride,
        key_leading=leading,
        key_stride=stride,
        value_leading=leading,
        value_stride=stride,
        output_leading=heads * size,
        output_stride=size,
    )
    return between, packed


def _topology(mask):
    structure = (part.cpu().numpy() for part in (mask.csr.row_offsets, mask.csr.column_indices))
    return context().topology(*structure, mask.csr.shape)


def tuned(mask, math, dtype, batch, heads, size, options):
    """Has the kernels of our attention measured, where options ask for it, so that its plans find the winners; with
    --train those of its gradients too."""
    if options.effort == "cached":
        return
    problem, packed = _problems(math, dtype, batch * heads, size)
    topology = _topology(mask)
    problems = [(problem, topology)]
    if options.train:  # gradients read and write packed operands
        gradients = vostok.SparseAttentionBackward(dataclasses.replace(packed, saved="row_statistics"))
        problems.append((gradients, topology))
    seconds = 3 * options.effort_seconds
    for result in vostok.tuning.tune(problems, effort=options.effort, seconds=seconds, context=context()):
        if result.error:
            raise result.error
        if result.provenance != "tuned_here":
            print(f"nothing was measured for attention, {math}: its plan is from {result.provenance}", file=sys.stderr)


def sparse(mask, math, packed=False):
    """Ours. packed: queries, keys and values are copied into tensors of their own before."""

    def attend(qkv):
        tokens, _, _, _, size = qkv.shape
        q, k, v = qkv.reshape(tokens, -1, 3, size).permute(2, 1, 0, 3).unbind()
        if packed:
            q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        y = vt.attention(q, k, v, mask.csr, math=math).transpose(0, 1)
        return y.reshape(tokens, qkv.shape[1], -1)

    return Way(attend, True, mask.bytes())


def composed(mask, math, qkv, options):
    """Ours in steps: a sampled product, a softmax and a product, with the scores in memory between them. Errors: LeftOut
    with options.train."""
    if options.train:
        raise LeftOut("this side has no gradients")
    tokens, _, heads, _, size = qkv.shape
    chosen = {"effort": options.effort, "family": "composed", "budget_seconds": options.effort_seconds}
    plan = context().plan(_problems(math, qkv.dtype, heads, size)[0], _topology(mask), **chosen)
    workspace = plan.make_workspace()

    def attend(qkv):
        y = qkv.new_empty(tokens, 1, heads * size)
        plan.execute(
            stream(),
            query=qkv.data_ptr(),
            key=qkv.data_ptr() + size * qkv.itemsize,
            value=qkv.data_ptr() + 2 * size * qkv.itemsize,
            output=y.data_ptr(),
            workspace=workspace.address if workspace else 0,
        )
        return y

    return Way(attend, True, mask.bytes(), facts={"plan": plan.explain().splitlines()})


def _heads(qkv):
    """Queries, keys and values [sequences, heads, tokens, size]."""
    return qkv.permute(3, 0, 2, 1, 4).unbind()


def _joined(y):
    return y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1)


def materialised_bytes(batch, heads, tokens, dtype, layers=None):
    """What scores and probabilities take; of a training step the probabilities of all layers stay."""
    one = batch * heads * tokens * tokens * dtype.itemsize
    return one * (2 if layers is None else layers + 3)


def materialised(mask, dtype, need, device):
    """Scores and probabilities in memory. Left out where they do not fit."""
    if device == "cuda":
        free = torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        if need > 0.9 * free:
            raise LeftOut(f"its scores and probabilities take {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free")
    bias = mask.bias(dtype)[None]

    def attend(qkv):
        batch, tokens, heads, _, size = qkv.shape
        q, k, v = (part.reshape(batch * heads, tokens, size) for part in _heads(qkv))
        scores = torch.baddbmm(bias, q, k.mT, alpha=size**-0.5)
        return _joined((torch.softmax(scores, -1) @ v).view(batch, heads, tokens, size))

    return Way(attend, own_bytes=bias.nbytes)


BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}


def sdpa(mask, dtype, qkv, tf32, masked=True, differentiated=False):
    """PyTorch's scaled_dot_product_attention with the mask, or (masked False) as a dense model has it: all keys, or
    all up to the query where the mask is causal. By the fastest backend that takes it; the math one only where no
    fused one does."""
    bias = mask.bias(dtype)[None, None] if masked else None
    causal = mask.causal and not masked

    def by(backend):
        def attend(qkv):
            with sdpa_kernel(backend):
                return _joined(functional.scaled_dot_product_attention(*_heads(qkv), attn_mask=bias, is_causal=causal))

        return attend

    took = {}
    for name, backend in BACKENDS.items():
        if name == "math" and took:
            break
        try:
            with precision(tf32):
                took[name] = _microseconds(by(backend), qkv, differentiated)
        except RuntimeError:
            continue
    if not took:
        raise LeftOut("no backend of scaled_dot_product_attention takes this mask and type")
    fastest = min(took, key=took.get)
    return Way(
        by(BACKENDS[fastest]),
        own_bytes=0 if bias is None else bias.nbytes,
        facts={"backend": fastest, "backends_us": took},
    )


def _microseconds(attend, qkv, differentiated):
    """How long a call takes, the best of three; with its gradient, where that is asked for."""
    times = []
    with torch.set_grad_enabled(differentiated):
        qkv = qkv.detach().requires_grad_(differentiated)
        for _ in range(4):
            with measured.timed(times, qkv.device.type):
                y = attend(qkv)
                if differentiated:
                    torch.autograd.grad(y.sum(), qkv)
    return min(times[1:])


def flex(mask, device):
    """FlexAttention, compiled, with the same mask; its block mask is made before."""
    if device == "cpu":
        raise LeftOut("FlexAttention's compiled kernel needs a GPU")
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    places = None if mask.attends else mask.dense()
    attends = mask.attends or (lambda query, key: places[query, key])
    tokens = mask.csr.shape[0]
    blocks = create_block_mask(lambda b, h, query, key: attends(query, key), None, None, tokens, tokens, device=device)
    compiled = torch.compile(flex_attention, dynamic=False)

    def attend(qkv):
        return _joined(compiled(*_heads(qkv), block_mask=blocks))

    return Way(attend, own_bytes=0 if places is None else places.nbytes, compiled=True)


def exact(mask):
    """The reference, in the type of its operands: head by head, and again where a gradient is wanted, so that the
    scores of one head are all that lies in memory. mask: bool [queries, keys]."""

    def one(q, k, v):
        scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill_(~mask, float("-inf"))
        return torch.softmax(scores, -1) @ v

    def attend(qkv):
        heads = zip(*(part.flatten(0, 1) for part in _heads(qkv)))
        mixed = torch.stack([checkpoint(one, *head, use_reentrant=False) for head in heads])
        return _joined(mixed.unflatten(0, (qkv.shape[0], -1)))

    return Way(attend)
