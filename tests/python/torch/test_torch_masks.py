"""Masks of attention: each beside its definition, element by element."""

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask

import vostok.torch as vt


def places(mask):
    """Where a Csr is, as a dense boolean; its columns ascend and none repeats."""
    rows = mask.row_offsets.diff().tolist()
    columns = mask.column_indices.tolist()
    start = 0
    for count in rows:
        row = columns[start : start + count]
        assert row == sorted(set(row))
        start += count
    assert (mask.values == 1).all()
    return vt.dense(mask).bool().cpu()


def of_rule(rows, cols, rule):
    return torch.tensor([[bool(rule(i, j)) for j in range(cols)] for i in range(rows)]).reshape(rows, cols)


@pytest.mark.parametrize("shape", [(9, 9), (7, 12), (12, 7), (1, 1), (5, 0)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("global_keys,global_queries", [(0, 0), (2, 0), (0, 3), (30, 30)])
def test_a_band_has_its_keys_and_global_ones(device, shape, causal, global_keys, global_queries):
    for width in (1, 3, 4, 40):
        mask = vt.BandedMask(width, causal, global_keys, global_queries).csr(*shape, device)

        def rule(i, j, width=width):
            near = i - width < j <= i if causal else i - width // 2 <= j <= i + width - 1 - width // 2
            return near or ((j < global_keys or i < global_queries) and (j <= i or not causal))

        assert torch.equal(places(mask), of_rule(*shape, rule)), width


def test_bigbird_is_its_blocks_and_the_same_for_a_seed(device):
    mask = vt.BigBirdMask(block=4, window=3, global_blocks=1, random_blocks=2, seed=5)
    found = places(mask.csr(30, 38, device))
    blocks = torch.nn.functional.pad(found, (0, 2, 0, 2)).reshape(8, 4, 10, 4)
    some = blocks.any(3).any(1)
    for i in range(8):
        for j in range(10):
            rows, cols = min(4, 30 - 4 * i), min(4, 38 - 4 * j)
            assert blocks[i, :rows, j, :cols].all() == some[i, j], "blocks are whole"
            if abs(i - j) <= 1 or i == 0 or j == 0:
                assert some[i, j]
    inner = [i for i in range(1, 8)]
    for i in inner:
        fixed = sum(abs(i - j) <= 1 or j == 0 for j in range(10))
        assert some[i].sum() == min(10, fixed + 2)
    again = vt.BigBirdMask(block=4, window=3, global_blocks=1, random_blocks=2, seed=5)
    assert torch.equal(found, places(again.csr(30, 38, device)))
    assert not torch.equal(found, places(vt.BigBirdMask(4, 3, 1, 2, seed=6).csr(30, 38, device)))


def test_causal_bigbird_attends_to_nothing_behind_a_query(device):
    found = places(vt.BigBirdMask(block=4, window=1, global_blocks=1, random_blocks=3, causal=True).csr(22, 22, device))
    assert not found.triu(1).any() and found.diagonal().all()
    blocks = torch.nn.functional.pad(found, (0, 2, 0, 2)).reshape(6, 4, 6, 4).any(3).any(1)
    assert blocks.sum(1).tolist() == [1, 2, 3, 4, 5, 5]


def test_lists_of_keys_are_a_mask_whatever_their_order(device):
    lists = torch.tensor([[3, 0, 3], [-1, -1, -1], [4, 2, -1]], device=device)
    for dtype in (torch.int64, torch.int32):
        mask = vt.csr_of_lists(lists.to(dtype), 5)
        assert mask.row_offsets.tolist() == [0, 2, 2, 4] and mask.column_indices.tolist() == [0, 3, 2, 4]
    assert vt.csr_of_lists(lists[:, :0], 5).row_offsets.tolist() == [0, 0, 0, 0]
    scores = torch.randn(20, 31, device=device)
    best = scores.topk(6, dim=1).indices
    chosen = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, best, True)
    assert torch.equal(places(vt.csr_of_lists(best, 31)), chosen.cpu())


def attends(batch, head, query, key):
    return (query >= key) & ((query - key < 20) | (key % 7 == 0))


@pytest.mark.parametrize("tokens", [(130, 130), (128, 300), (50, 40)])
def test_a_block_mask_is_taken_element_by_element(device, tokens):
    block_mask = create_block_mask(attends, None, None, *tokens, device=device, BLOCK_SIZE=32)
    query, key = (torch.arange(count, device=device) for count in tokens)
    expected = attends(0, 0, query[:, None], key[None, :])
    mask = vt.csr_of_block_mask(block_mask)
    assert mask.shape == tokens and torch.equal(places(mask), expected.cpu())


def test_a_block_mask_of_several_sequences_and_heads_gives_the_one_that_is_named(device):
    lengths = torch.tensor([40, 70], device=device)

    def within(batch, head, query, key):
        return (key < lengths[batch]) & (query - key <= 16 * (head + 1))

    block_mask = create_block_mask(within, 2, 3, 96, 96, device=device, BLOCK_SIZE=32)
    tokens = torch.arange(96, device=device)
    for sequence, head in ((0, 0), (1, 2)):
        expected = within(sequence, head, tokens[:, None], tokens[None, :])
        assert torch.equal(places(vt.csr_of_block_mask(block_mask, sequence=sequence, head=head)), expected.cpu())
    with pytest.raises(ValueError, match="it has 2, one for each sequence"):
        vt.csr_of_block_mask(block_mask, head=1)
    with pytest.raises(ValueError, match="head is 3, and there are 3"):
        vt.csr_of_block_mask(block_mask, sequence=0, head=3)


def test_attention_takes_each_of_them(device, fresh):
    q, k, v = (torch.randn(2, 40, 8, device=device) for _ in range(3))
    block_mask = create_block_mask(attends, None, None, 40, 40, device=device, BLOCK_SIZE=16)
    for mask in (vt.BandedMask(5, False, 3), vt.BigBirdMask(8, 1, 1, 1), block_mask):
        a = mask.csr(40, 40, device) if hasattr(mask, "csr") else vt.csr_of_block_mask(mask)
        there = vt.dense(a).bool()
        scores = (q.double() @ k.double().mT / 8**0.5).masked_fill(~there, float("-inf"))
        exact = torch.softmax(scores, -1) @ v.double()
        assert (vt.attention(q, k, v, mask).double() - exact).norm() < 1e-5 * exact.norm()
        misses = fresh.misses
        vt.attention(q, k, v, mask)
        assert fresh.misses == misses, "a mask is made and planned once"


@pytest.mark.parametrize(
    "make,text",
    [
        (lambda: vt.BandedMask(0).csr(4, 4), "width is 0, and must be at least 1"),
        (lambda: vt.BandedMask(2, global_keys=-1).csr(4, 4), "global_keys is -1, and must not be negative"),
        (lambda: vt.BigBirdMask(block=0).csr(4, 4), "block is 0, and must be at least 1"),
        (lambda: vt.BigBirdMask(random_blocks=-2).csr(4, 4), "random_blocks is -2, and must be at least 0"),
        (lambda: vt.csr_of_lists(torch.tensor([[5]]), 5), "it names column 5, and there are 5"),
        (lambda: vt.csr_of_lists(torch.ones(2, 2), 5), "float32 of shape"),
        (lambda: vt.csr_of_lists(torch.ones(2, dtype=torch.int64), 5), "must be integers"),
    ],
)
def test_what_cannot_be_made_is_said(make, text):
    with pytest.raises(ValueError, match=text):
        make()
