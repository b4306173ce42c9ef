"""A mask for each sequence or head of a batch in one call, against float64."""

import gc

import pytest
import torch
from cases import assert_close, weight
from torch.nn.attention.flex_attention import create_block_mask

import vostok.torch as vt
from vostok.torch._joined import apart, behind
from vostok.torch._layouts import laid_out
from vostok.torch._masks import _masks

TYPES = [torch.float32, torch.float16, torch.bfloat16]
SEQUENCES, HEADS, SIZE, VALUE_SIZE = 3, 2, 16, 8


def drawn_masks(device, queries, keys, count=SEQUENCES):
    return [weight(queries, keys, 0.3 + 0.1 * number, device=device) != 0 for number in range(count)]


def drawn(device, dtype, queries, keys, tokens_first=True, heads=HEADS, key_heads=HEADS):
    """q, k and v [sequences, heads, tokens, size], of which heads or tokens lie outside."""

    def one(heads, tokens, size):
        shape = (SEQUENCES, tokens, heads, size) if tokens_first else (SEQUENCES, heads, tokens, size)
        tensor = torch.randn(shape, device=device).to(dtype).requires_grad_()
        return tensor.transpose(1, 2) if tokens_first else tensor

    return one(heads, queries, SIZE), one(key_heads, keys, SIZE), one(key_heads, keys, VALUE_SIZE)


def dense(q, k, v, mask, softcap=0.0, is_causal=False):
    """In float64, of a mask [.., queries, keys]. A query without keys gets zeros."""
    if q.dim() > 2:
        k, v = (tensor.repeat_interleave(q.shape[-3] // k.shape[-3], -3) for tensor in (k, v))
    scores = q @ k.mT / SIZE**0.5
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if is_causal:
        mask = mask.tril(mask.shape[-1] - mask.shape[-2])
    there = mask.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(~mask & there, float("-inf")), -1) * there @ v


def check(operands, mask, reference, factor=8, **options):
    """Output and gradients are those of reference(q, k, v) in float64."""
    y = vt.attention(*operands, mask, **options)
    exact = [tensor.detach().double().requires_grad_() for tensor in operands]
    expected = reference(*exact)
    assert_close(y, expected, factor=factor)
    gradient = torch.randn_like(y)
    found = torch.autograd.grad(y, operands, gradient)
    for some, other in zip(found, torch.autograd.grad(expected, exact, gradient.double())):
        assert_close(some, other, factor=2 * factor)
    return y


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("tokens_first", [True, False])
@pytest.mark.parametrize("queries,keys", [(20, 20), (17, 26)])
def test_each_sequence_has_its_mask(device, dtype, tokens_first, queries, keys):
    masks = drawn_masks(device, queries, keys)
    stacked = torch.stack(masks)[:, None]
    operands = drawn(device, dtype, queries, keys, tokens_first)
    check(operands, masks, lambda q, k, v: dense(q, k, v, stacked))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("tokens_first", [True, False])
def test_each_head_of_each_sequence_has_its_mask(device, dtype, tokens_first):
    masks = drawn_masks(device, 17, 26, SEQUENCES * HEADS)
    nested = [masks[at : at + HEADS] for at in range(0, len(masks), HEADS)]
    stacked = torch.stack(masks).unflatten(0, (SEQUENCES, HEADS))
    y = check(drawn(device, dtype, 17, 26, tokens_first), nested, lambda q, k, v: dense(q, k, v, stacked))
    assert y.is_contiguous()


def test_each_head_of_one_sequence_has_its_mask(device):
    masks = drawn_masks(device, 17, 26)
    operands = [torch.randn(SEQUENCES, tokens, SIZE, device=device, requires_grad=True) for tokens in (17, 26, 26)]
    check(operands, masks, lambda q, k, v: dense(q, k, v, torch.stack(masks)))


@pytest.mark.parametrize("dtype", TYPES)
def test_sequences_of_any_lengths_lie_behind_one_another(device, dtype):
    shapes = [(5, 9), (0, 3), (20, 20), (4, 0), (1, 33)]
    masks = [weight(*shape, device=device) != 0 for shape in shapes]
    queries, keys = (sum(sizes) for sizes in zip(*shapes))
    joined = vt.join_masks(masks)
    assert joined.shape == (queries, keys) and joined.blocks == tuple(shapes) and joined.counts == (len(shapes),)
    block = torch.block_diag(*(mask.float() for mask in masks)).bool()
    assert torch.equal(vt.dense(joined.matrix).bool(), block)
    operands = [
        torch.randn(tokens, HEADS, size, device=device).to(dtype).requires_grad_().transpose(0, 1)
        for tokens, size in ((queries, SIZE), (keys, SIZE), (keys, VALUE_SIZE))
    ]

    def apart(q, k, v):
        sizes = [list(axis) for axis in zip(*shapes)]
        parts = zip(q.split(sizes[0], -2), k.split(sizes[1], -2), v.split(sizes[1], -2))
        return torch.cat([dense(*part, mask) for part, mask in zip(parts, masks)], -2)

    check(operands, joined, apart)


@pytest.mark.parametrize("dtype", TYPES)
def test_heads_of_a_sequence_share_keys_and_its_mask(device, dtype):
    masks = drawn_masks(device, 17, 26)
    operands = drawn(device, dtype, 17, 26, heads=4, key_heads=2)
    check(operands, masks, lambda q, k, v: dense(q, k, v, torch.stack(masks)[:, None]))


@pytest.mark.parametrize("dtype", TYPES[1:])
@pytest.mark.parametrize("options", [{"softcap": 0.75}, {"is_causal": True}, {"softcap": 2.0, "is_causal": True}])
def test_caps_and_causal_queries_are_those_of_each_sequence(device, dtype, options):
    masks = drawn_masks(device, 20, 20)
    stacked = torch.stack(masks)[:, None]
    check(drawn(device, dtype, 20, 20), masks, lambda q, k, v: dense(q, k, v, stacked, **options), **options)


def test_causal_queries_end_at_the_last_key_of_a_first_mask_that_is_not_square(device):
    shapes = [(4, 9), (7, 7), (0, 0), (5, 5)]
    masks = [torch.ones(shape, dtype=torch.bool, device=device) for shape in shapes]
    q, k, v = (torch.randn(1, tokens, SIZE, device=device).half() for tokens in (16, 21, 21))
    y = vt.attention(q, k, v, vt.join_masks(masks), is_causal=True)
    causal = torch.block_diag(*(mask.tril(mask.shape[1] - mask.shape[0]).float() for mask in masks)).bool()
    assert_close(y, dense(q.double(), k.double(), v.double(), causal), factor=8)


@pytest.mark.parametrize("tokens_first,axes,shape", [(True, 1, (HEADS, 60, SIZE)), (False, 2, (120, SIZE))])
def test_tokens_that_lie_behind_one_another_are_seen_as_rows(device, tokens_first, axes, shape):
    q, *_ = drawn(device, torch.float32, 20, 20, tokens_first)
    rows = behind(q, axes)
    assert rows.data_ptr() == q.data_ptr() and rows.shape == shape
    again = apart(rows, q.shape[:axes])
    assert torch.equal(again, q) and again.stride() == q.stride()


@pytest.mark.parametrize("tokens_first", [True, False])
def test_the_output_of_a_mask_for_each_sequence_has_tokens_first(device, tokens_first):
    y = vt.attention(*drawn(device, torch.float32, 20, 20, tokens_first), drawn_masks(device, 20, 20))
    assert y.transpose(1, 2).is_contiguous()


def test_parts_of_one_projection_are_not_copied(device):
    qkv = torch.randn(SEQUENCES, 20, 3, HEADS, SIZE, device=device)
    masks = drawn_masks(device, 20, 20)
    q, k, v = (qkv[:, :, part].transpose(1, 2) for part in range(3))
    for tensor in (q, k, v):
        assert laid_out("query", behind(tensor, 1))[0].data_ptr() == tensor.data_ptr()
    packed = vt.attention(q.contiguous(), k.contiguous(), v.contiguous(), masks)
    assert torch.equal(vt.attention(q, k, v, masks), packed)


def kinds(device):
    """A mask of each kind, of 20 queries and keys, and the Csr that stands for it."""
    block_mask = create_block_mask(
        lambda batch, head, query, key: (query - key) % 3 == 0, None, None, 20, 20, device=device, BLOCK_SIZE=16
    )
    places = weight(20, 20, device=device)
    rules = [vt.BandedMask(4), vt.BigBirdMask(4, 1, 1, 1)]
    same = (places != 0, vt.csr(places), places.to_sparse(), places.to_sparse_csr())
    pairs = [(mask, vt.csr(places)) for mask in same]
    pairs += [(blocks := places.to_sparse_bsr((4, 4)), vt.csr(blocks)), (block_mask, vt.csr_of_block_mask(block_mask))]
    return pairs + [(rule, rule.csr(20, 20, device)) for rule in rules]


def places_of(a):
    """Where a Csr has elements, zeros too, as a dense boolean."""
    return vt.dense(a.with_values(torch.ones_like(a.values))).bool()


def test_masks_may_be_of_any_kind(device):
    masks, singles = zip(*kinds(device))
    full = [places_of(a) for a in singles]
    joined = vt.join_masks(masks, (20, 20))
    assert torch.equal(vt.dense(joined.matrix).bool(), torch.block_diag(*(mask.float() for mask in full)).bool())
    q, k, v = (torch.randn(len(masks), HEADS, 20, SIZE, device=device) for _ in range(3))
    y = vt.attention(q, k, v, masks)
    assert_close(y, dense(q.double(), k.double(), v.double(), torch.stack(full)[:, None]), factor=8)
    assert torch.equal(vt.attention(q, k, v, joined), y)


def test_rules_are_made_for_the_length_of_each_sequence(device):
    shapes = [(5, 5), (12, 12), (3, 8)]
    joined = vt.join_masks([vt.BandedMask(4)] * 3, shapes, device=device)
    parts = [vt.dense(vt.BandedMask(4).csr(*shape, device)) for shape in shapes]
    assert torch.equal(vt.dense(joined.matrix), torch.block_diag(*parts))


def test_indices_of_64_bits_are_taken(device):
    a = vt.csr(weight(6, 9, device=device))
    wide = vt.Csr(a.values, a.row_offsets.long(), a.column_indices.long(), a.shape)
    joined = vt.join_masks([a, wide]).matrix
    assert joined.row_offsets.dtype == joined.column_indices.dtype == torch.int32
    assert torch.equal(vt.dense(joined), torch.block_diag(*2 * [(vt.dense(a) != 0).float()]))


def test_more_columns_than_16_bits_are_taken(device):
    lists = [torch.randint(40_000, (2, 5), device=device) for _ in range(3)]
    masks = [vt.csr_of_lists(columns, 40_000) for columns in lists]
    q, k, v = (torch.randn(3, 1, tokens, SIZE, device=device) for tokens in (2, 40_000, 40_000))
    y = vt.attention(q, k, v, masks)
    for number, mask in enumerate(masks):
        assert_close(y[number], vt.attention(q[number], k[number], v[number], mask).double(), factor=8)


def test_the_same_masks_are_joined_and_planned_once(device, fresh):
    masks = [*drawn_masks(device, 20, 20, 2), vt.csr(weight(20, 20, device=device))]
    operands = drawn(device, torch.float32, 20, 20)
    joined = vt.join_masks(masks)
    first = vt.attention(*operands, masks)
    first.sum().backward()
    misses = fresh.misses
    vt.attention(*operands, list(masks)).sum().backward()
    a = masks[2]
    assert vt.join_masks((*masks[:2], a.with_values(a.values + 1))) is joined, "only the structure counts"
    assert fresh.misses == misses
    assert vt.join_masks(masks[::-1]) is not joined
    masks[0].logical_not_()
    again = vt.join_masks(masks)
    assert again is not joined and torch.equal(vt.dense(again.matrix)[:20, :20].bool(), masks[0])


def test_a_joined_mask_is_forgotten_with_any_of_its_masks(device):
    masks = drawn_masks(device, 20, 20)
    before = set(_masks)
    vt.join_masks(masks)
    (added,) = set(_masks) - before
    del masks[1]
    gc.collect()
    assert added not in _masks


def test_compiled_programs_take_joined_masks(device):
    joined = vt.join_masks(drawn_masks(device, 20, 20))
    operands = drawn(device, torch.float32, 20, 20)
    compiled = torch.compile(lambda q, k, v: vt.attention(q, k, v, joined), fullgraph=True, backend="aot_eager")
    y, eager = compiled(*operands), vt.attention(*operands, joined)
    assert torch.equal(y, eager) and y.stride() == eager.stride()
    found = torch.autograd.grad(y.sum(), operands)
    assert all(map(torch.equal, found, torch.autograd.grad(eager.sum(), operands)))


def test_compiled_programs_join_no_masks(device):
    masks = drawn_masks(device, 20, 20)
    operands = drawn(device, torch.float32, 20, 20)
    with pytest.raises(RuntimeError, match="join the masks before"):
        torch.compile(lambda q, k, v: vt.attention(q, k, v, masks), fullgraph=True, backend="aot_eager")(*operands)
    broken = torch.compile(lambda q, k, v: vt.attention(q, k, v, masks), backend="aot_eager")
    assert torch.equal(broken(*operands), vt.attention(*operands, masks))


def test_a_joined_mask_is_explained(device):
    joined = vt.join_masks(drawn_masks(device, 20, 20))
    vt.attention(*drawn(device, torch.float32, 20, 20), joined)
    assert "shape=(60, 60)" in vt.explain(joined) and "SparseAttention(n=16" in vt.explain(joined)


def csr_of(offsets, columns, shape):
    return vt.Csr(torch.ones(len(columns)), torch.tensor(offsets), torch.tensor(columns, dtype=torch.int64), shape)


def of_ones(*shape):
    return torch.ones(shape, dtype=torch.bool)


@pytest.mark.parametrize(
    "masks,shapes,text",
    [
        ([], None, "there are none"),
        ([[of_ones(2, 2)], of_ones(2, 2)], None, "some are lists"),
        ([[of_ones(2, 2)], 2 * [of_ones(2, 2)]], None, r"the sequences have \[1, 2\] masks"),
        ([[[of_ones(2, 2)]]], None, "nested deeper"),
        ([of_ones(2, 2), vt.BandedMask(3)], None, "mask 1 is BandedMask.*: name the shapes"),
        ([of_ones(2, 2), of_ones(2, 3)], (2, 2), r"mask 1 has shape \(2, 3\), and must have \(2, 2\)"),
        ([of_ones(2, 2)], [(2, 2), (3, 3)], "there are 1 masks and 2 shapes"),
        ([of_ones(2)], None, r"it has shape \(2,\), and must have two axes"),
        ([of_ones(2, 2), csr_of([0, 1], [2], (1, 2))], None, "mask 1 names columns 2 to 2 of 2"),
        ([csr_of([0, 1], [-1], (1, 2))], None, "mask 0 names columns -1 to -1 of 2"),
        ([csr_of([0, 1], [2**32], (1, 2))], None, "mask 0 names columns 4294967296 to"),
        ([csr_of([0, 1], [0, 1], (1, 2))], None, "mask 0 begin with 0 and end with 1, and it has 2 columns"),
        ([csr_of([0, 1, 1], [0], (1, 2))], None, "mask 0: row_offsets has 3 elements, and must have rows . 1 = 2"),
        (2 * [csr_of([0, 0], [], (1, 2**30))], None, "they have 2147483648 keys, and may have 2147483647"),
    ],
)
def test_masks_that_cannot_be_joined_are_refused_by_name(masks, shapes, text):
    with pytest.raises(ValueError, match=text):
        vt.join_masks(masks, shapes)


def test_masks_of_several_devices_or_of_no_kind_are_refused_by_name():
    with pytest.raises(TypeError, match="they are BandedMask, and must be a list"):
        vt.join_masks(vt.BandedMask(3), (2, 2))
    with pytest.raises(TypeError, match="mask 1 is str, and must be a Csr, a rule, a tensor or a BlockMask"):
        vt.join_masks([of_ones(2, 2), "causal"])
    a = vt.csr(weight(4, 4))
    elsewhere = vt.Csr(a.values, a.row_offsets.to("meta"), a.column_indices.to("meta"), a.shape)
    with pytest.raises(TypeError, match="mask 1: row_offsets is on meta, and mask 0 is on cpu"):
        vt.join_masks([a, elsewhere])


@pytest.mark.parametrize(
    "count,options,text",
    [
        (2, {}, r"q has shape \(3, 4, 20, 16\), and must have leading axes \(2,\)"),
        (3, {"keys": 21}, r"mask 0 has shape \(20, 20\), and must have \(20, 21\)"),
        (12, {"key_heads": 2}, r"k has shape \(3, 2, 20, 16\), and must have leading axes \(3, 4\).* as q has"),
    ],
)
def test_masks_that_do_not_fit_the_tensors_are_refused_by_name(device, count, options, text):
    masks = drawn_masks(device, 20, 20, count)
    if count == 12:
        masks = [masks[at : at + 4] for at in range(0, 12, 4)]
    operands = drawn(device, torch.float32, 20, options.get("keys", 20), heads=4, key_heads=options.get("key_heads", 4))
    with pytest.raises(ValueError, match=text):
        vt.attention(*operands, masks)


def test_causal_queries_of_masks_that_are_not_square_are_refused(device):
    q, k, v = drawn(device, torch.float16, 17, 26)
    with pytest.raises(ValueError, match=r"is_causal with joined masks, of which mask 1 has shape \(17, 26\)"):
        vt.attention(q, k, v, drawn_masks(device, 17, 26), is_causal=True)
    vt.attention(q[:1], k[:1], v[:1], drawn_masks(device, 17, 26, 1), is_causal=True)


def test_lengths_that_differ_need_tokens_behind_one_another(device):
    joined = vt.join_masks([of_ones(3, 3).to(device), of_ones(4, 4).to(device)])
    q = torch.randn(2, 3, 4, SIZE, device=device)
    with pytest.raises(ValueError, match=r"mask 0 has shape \(3, 3\), and q and k have 4 queries and 4 keys"):
        vt.attention(q, q, q, joined)
    with pytest.raises(ValueError, match=r"q has shape \(3, 4, 16\).*; or all 7 queries and 7 keys behind one another"):
        vt.attention(q[0], q[0], q[0], joined)
