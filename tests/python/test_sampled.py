"""Sampled products, softmax and attention against NumPy in float64."""

import numpy as np
import pytest

import vostok
from harness import OnDevice, assert_close, csr, execute, needs_host_memory, numbers, poisoned, softmax, sparse, wide

ELEMENTS = ("f32", "f16", "bf16")


def at(dense, parts):
    """The elements of a dense array where the mask has them, in CSR order."""
    rows = np.repeat(np.arange(parts[1].shape[-2]), np.diff(parts[2]))
    return dense[..., rows, parts[3]]


@pytest.mark.parametrize("element", ELEMENTS)
def test_a_plan_samples_a_product_onto_poisoned_memory(context, rng, element):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts).topology
    lhs, rhs = numbers(rng, (20, 16), element), numbers(rng, (24, 16), element)
    output = poisoned(mask.nonzeros, element)
    execute(context.plan(vostok.Sddmm(n=16, element=element), mask), lhs=lhs, rhs=rhs, output=output)
    assert_close(output, at(wide(lhs, element) @ wide(rhs, element).T, parts), element)


def test_sampled_products_of_batches_layouts_and_with_a_multiplier(context, rng):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts)
    lhs, rhs = numbers(rng, (2, 20, 16)), numbers(rng, (2, 24, 16))
    reference = at(wide(lhs) @ np.swapaxes(wide(rhs), -1, -2), parts)
    assert_close(vostok.sddmm(mask, lhs, rhs).values, reference)
    by = numbers(rng, (mask.nnz,))
    assert_close(vostok.sddmm(mask, lhs, rhs, multiplier=by, scale=-0.5).values, -0.5 * reference * by)
    each = numbers(rng, (2, mask.nnz))
    assert_close(vostok.sddmm(mask.topology, lhs, rhs, multiplier=each).values, reference * each)
    turned = np.ascontiguousarray(np.swapaxes(lhs, -1, -2)).swapaxes(-1, -2)
    assert_close(vostok.sddmm(mask, turned, rhs[:, :, ::1]).values, reference)
    assert_close(vostok.sddmm(mask, lhs[:, :, ::2], rhs[:, :, ::2]).values,
                 at(wide(lhs[:, :, ::2]) @ np.swapaxes(wide(rhs[:, :, ::2]), -1, -2), parts))  # fmt: skip
    out = poisoned((2, mask.nnz))
    vostok.sddmm(mask, lhs, rhs, out=out)
    vostok.sddmm(mask, lhs, rhs, out=out, accumulate=True)
    assert_close(out, 2 * reference)
    assert np.array_equal(vostok.sddmm(mask, lhs[:, :, :0], rhs[:, :, :0]).values, np.zeros((2, mask.nnz), np.float32))


@pytest.mark.parametrize("element", ELEMENTS)
def test_softmax_and_its_gradient(context, rng, element):
    parts = sparse(rng, 20, 24, element=element, batch=(3,))
    a = csr(context, parts, element)
    pattern = np.zeros((20, 24), bool)
    at_mask = np.repeat(np.arange(20), np.diff(parts[2])), parts[3]
    pattern[at_mask] = True
    reference = softmax(parts[1], pattern, 0.7)
    y = vostok.softmax(a, scale=0.7)
    assert_close(y.values, at(reference, parts), element)
    outer = numbers(rng, (3, a.nnz), element)
    dense = np.zeros((3, 20, 24))
    dense[(..., *at_mask)] = wide(outer, element)
    exact = wide(y.values, element)
    probabilities = np.zeros((3, 20, 24))
    probabilities[(..., *at_mask)] = exact
    gradient = 0.7 * probabilities * (dense - (probabilities * dense).sum(axis=-1, keepdims=True))
    found = vostok.softmax_backward(y, outer, scale=0.7)
    assert_close(found.values, at(gradient, parts), element, factor=4)
    assert found.topology is a.topology


def test_softmax_plans_write_and_read_the_rows_statistics(context, rng):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts).topology
    statistics, output, again = poisoned(20), poisoned(mask.nonzeros), poisoned(mask.nonzeros)
    execute(context.plan(vostok.Softmax(statistics="write"), mask), values=parts[0], output=output,
            row_statistics=statistics)  # fmt: skip
    execute(context.plan(vostok.Softmax(statistics="read"), mask), values=parts[0], output=again,
            row_statistics=statistics)  # fmt: skip
    full = np.diff(parts[2]) > 0
    rows = np.repeat(np.arange(20), np.diff(parts[2]))
    sums = np.zeros(20)
    np.add.at(sums, rows, np.exp(wide(parts[0])))
    assert_close(statistics[full], np.log(sums[full]))
    assert_close(again, np.exp(wide(parts[0])) / sums[rows])
    assert_close(output, again.astype(float))


def test_a_chain_of_sampling_softmax_and_product_is_attention(context, rng):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts)
    q, k, v = numbers(rng, (20, 16)), numbers(rng, (24, 16)), numbers(rng, (24, 8))
    chain = vostok.softmax(vostok.sddmm(mask, q, k), scale=0.25) @ v
    assert_close(chain, wide(vostok.attention(q, k, v, mask)), factor=4)


@pytest.mark.parametrize("element", ELEMENTS)
def test_attention_and_its_gradients(context, rng, element):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts)
    pattern = parts[1] != 0
    q, k, v, outer = (numbers(rng, (2, rows, size), element) for rows, size in ((20, 16), (24, 16), (24, 8), (20, 8)))
    given = {"element": element} if element == "bf16" else {}
    query, key, value, gradient = (wide(array, element) for array in (q, k, v, outer))
    p = softmax(query @ np.swapaxes(key, -1, -2), pattern, 0.25)
    found = vostok.attention(q, k, v, mask, **given)
    assert_close(found, p @ value, element, factor=4)
    dp = gradient @ np.swapaxes(value, -1, -2)
    ds = 0.25 * p * (dp - (p * dp).sum(axis=-1, keepdims=True))
    dq, dk, dv = vostok.attention_backward(q, k, v, outer, mask, **given)
    assert_close(dv, np.swapaxes(p, -1, -2) @ gradient, element, factor=4)
    assert_close(dq, ds @ key, element, factor=8)
    assert_close(dk, np.swapaxes(ds, -1, -2) @ query, element, factor=8)


@pytest.mark.parametrize("element", ELEMENTS)
def test_attention_of_heads_that_share_keys_is_that_of_repeated_ones(context, rng, element):
    mask = csr(context, sparse(rng, 20, 24))
    q, outer = numbers(rng, (2, 4, 20, 16), element), numbers(rng, (2, 4, 20, 8), element)
    k, v = numbers(rng, (2, 2, 24, 16), element), numbers(rng, (2, 2, 24, 8), element)
    given = {"element": element} if element == "bf16" else {}
    repeated = [np.repeat(array, 2, axis=1) for array in (k, v)]
    found = vostok.attention(q, k, v, mask, **given)
    assert_close(found, wide(vostok.attention(q, *repeated, mask, **given), element), element, factor=4)
    whole = vostok.attention_backward(q, *repeated, outer, mask, **given)
    dq, dk, dv = vostok.attention_backward(q, k, v, outer, mask, **given)
    assert_close(dq, wide(whole[0], element), element, factor=8)
    for gradient, apart in zip((dk, dv), whole[1:]):
        assert_close(gradient, wide(apart, element).reshape(2, 2, 2, *apart.shape[2:]).sum(axis=2), element, factor=8)


@pytest.mark.parametrize("element", ELEMENTS)
def test_attention_caps_scores_and_ends_at_the_diagonal(context, rng, element):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts)
    q, k, v = (numbers(rng, (2, rows, size), element) for rows, size in ((20, 16), (24, 16), (24, 8)))
    given = {"element": element} if element == "bf16" else {}
    query, key, value = (wide(array, element) for array in (q, k, v))
    scores = 0.75 * np.tanh(0.25 * query @ np.swapaxes(key, -1, -2) / 0.75)
    p = softmax(scores, np.tril(parts[1] != 0, 4), 1.0)
    assert_close(vostok.attention(q, k, v, mask, softcap=0.75, causal=True, **given), p @ value, element, factor=4)
    with pytest.raises(vostok.InvalidArgument, match="softcap is -1"):
        vostok.attention(q, k, v, mask, softcap=-1.0, **given)
    outer = q[..., :8].copy()
    dp = wide(outer, element) @ np.swapaxes(value, -1, -2)
    ds = p * (dp - (p * dp).sum(axis=-1, keepdims=True)) * (1 - (scores / 0.75) ** 2)
    dq, dk, dv = vostok.attention_backward(q, k, v, outer, mask, softcap=0.75, causal=True, **given)
    assert_close(dv, np.swapaxes(p, -1, -2) @ wide(outer, element), element, factor=4)
    assert_close(dq, 0.25 * ds @ key, element, factor=8)
    assert_close(dk, 0.25 * np.swapaxes(ds, -1, -2) @ query, element, factor=8)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shared", (False, True))
def test_attention_adds_biases_to_scores(context, rng, element, shared):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts)
    pattern = parts[1] != 0
    shapes = (20, 16), (24, 16), (24, 8), (20, 8)
    q, k, v, outer = (numbers(rng, (2, rows, size), element) for rows, size in shapes)
    bias = numbers(rng, (pattern.sum(),) if shared else (2, pattern.sum()), element)
    given = {"element": element} if element == "bf16" else {}
    query, key, value, gradient = (wide(array, element) for array in (q, k, v, outer))
    biases = np.zeros((2, 20, 24))
    biases[:, pattern] = wide(bias, element)
    p = softmax(0.25 * query @ np.swapaxes(key, -1, -2) + biases, pattern, 1.0)
    assert_close(vostok.attention(q, k, v, mask, bias=bias, **given), p @ value, element, factor=4)
    with pytest.raises(vostok.InvalidArgument, match="bias has shape .*, and must have .*, for all heads, or"):
        vostok.attention(q, k, v, mask, bias=bias[..., 1:], **given)
    dp = gradient @ np.swapaxes(value, -1, -2)
    ds = p * (dp - (p * dp).sum(axis=-1, keepdims=True))
    dq, dk, dv, db = vostok.attention_backward(q, k, v, outer, mask, bias=bias, **given)
    assert_close(dv, np.swapaxes(p, -1, -2) @ gradient, element, factor=4)
    assert_close(dq, 0.25 * ds @ key, element, factor=8)
    assert_close(dk, 0.25 * np.swapaxes(ds, -1, -2) @ query, element, factor=8)
    assert_close(db, ds[:, pattern], element, factor=8)


@pytest.mark.parametrize("element", ELEMENTS)
def test_attention_drops_probabilities_by_seed_and_offset(context, rng, element):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts)
    pattern = parts[1] != 0
    q, k, v, outer = (numbers(rng, (2, rows, size), element) for rows, size in ((20, 16), (24, 16), (24, 8), (20, 8)))
    given = {"element": element} if element == "bf16" else {}
    numbered = {"dropout": 0.25, "seed": 2**64 - 1, "offset": 5, **given}
    one = 0x3F80 if element == "bf16" else 1
    ones = np.broadcast_to(np.eye(24, dtype=v.dtype) * v.dtype.type(one), (2, 24, 24)).copy()
    kept = wide(vostok.attention(q, k, ones, mask, **numbered), element) != 0
    assert 0.1 < 1 - kept[:, pattern].mean() < 0.4
    for name in ("seed", "offset"):
        other = {**numbered, name: 6}
        assert (kept != (wide(vostok.attention(q, k, ones, mask, **other), element) != 0)).any()
    query, key, value, gradient = (wide(array, element) for array in (q, k, v, outer))
    p = softmax(query @ np.swapaxes(key, -1, -2), pattern, 0.25)
    assert_close(vostok.attention(q, k, v, mask, **numbered), p * kept / 0.75 @ value, element, factor=4)
    for rate in (-0.5, 1.0, 2.0, float("nan")):
        with pytest.raises(vostok.InvalidArgument, match=f"dropout is {rate}"):
            vostok.attention(q, k, v, mask, dropout=rate, **given)
    with pytest.raises(vostok.InvalidArgument, match="seed is -1"):
        vostok.attention(q, k, v, mask, dropout=0.5, seed=-1, **given)
    dp = gradient @ np.swapaxes(value, -1, -2) * kept / 0.75
    ds = 0.25 * p * (dp - (p * dp).sum(axis=-1, keepdims=True))
    dq, dk, dv = vostok.attention_backward(q, k, v, outer, mask, **numbered)
    assert_close(dv, np.swapaxes(p * kept / 0.75, -1, -2) @ gradient, element, factor=4)
    assert_close(dq, ds @ key, element, factor=8)
    assert_close(dk, np.swapaxes(ds, -1, -2) @ query, element, factor=8)


@pytest.mark.parametrize("saved", ("none", "probabilities", "row_statistics"))
def test_attention_plans_save_what_their_gradient_reads(context, rng, saved):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts).topology
    q, k, v, outer = (numbers(rng, (rows, 16)) for rows in (20, 24, 24, 20))
    problem = vostok.SparseAttention(n=16, saved=saved)
    forward = context.plan(problem, mask)
    backward = context.plan(vostok.SparseAttentionBackward(problem), mask)
    assert forward.saved_bytes == backward.saved_bytes and (forward.saved_bytes > 0) == (saved != "none")
    memory = context.array(np.full(forward.saved_bytes, 0xFF, np.uint8))
    kept = memory.address
    output = poisoned((20, 16))
    execute(forward, query=q, key=k, value=v, output=output, saved=kept)
    dq, dk, dv = (poisoned((rows, 16)) for rows in (20, 24, 24))
    left = {"output": output} if saved == "row_statistics" else {}
    execute(backward, query=q, key=k, value=v, output_gradient=outer, saved=kept, query_gradient=dq, key_gradient=dk,
            value_gradient=dv, **left)  # fmt: skip
    assert_close(output, wide(vostok.attention(q, k, v, mask)))
    for found, reference in zip((dq, dk, dv), vostok.attention_backward(q, k, v, outer, mask)):
        assert_close(found, wide(reference), factor=4)


def test_attention_of_other_layouts_and_with_a_scale(context, rng):
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts)
    packed = numbers(rng, (24, 3, 2, 16))  # tokens, (query, key, value), heads, size: as one projection gives them
    q, k, v = (packed[:, i].transpose(1, 0, 2) for i in range(3))
    p = softmax(wide(q[:, :20]) @ np.swapaxes(wide(k), -1, -2), parts[1] != 0, 2.0)
    assert_close(vostok.attention(q[:, :20], k, v, mask, scale=2.0), p @ wide(v), factor=4)
    turned = np.asfortranarray(k[0])
    assert_close(vostok.attention(q[0, :20], turned, v[0], mask, scale=2.0), (p @ wide(v))[0], factor=4)
    with pytest.raises(vostok.InvalidArgument, match="scale is 0"):
        vostok.attention(q[:, :20], k, v, mask, scale=0)
    dq, dk, dv = vostok.attention_backward(q[:, :20], k, v, q[:, :20], mask, scale=2.0)
    assert np.isfinite(dq).all() and dk.shape == k.shape and dv.flags.c_contiguous


def test_operations_by_rows_refuse_a_transpose(context, rng):
    a = csr(context, sparse(rng, 20, 24))
    x, y = numbers(rng, (24, 4)), numbers(rng, (20, 4))
    for call in (lambda: vostok.sddmm(a.T, x, y), lambda: vostok.softmax(a.T), lambda: vostok.attention(x, y, y, a.T),
                 lambda: vostok.softmax_backward(a.T, a.values)):  # fmt: skip
        with pytest.raises(vostok.InvalidArgument, match="transpose"):
            call()


def test_shapes_that_do_not_fit_are_named(context, rng):
    a = csr(context, sparse(rng, 20, 24))
    x, y = numbers(rng, (20, 4)), numbers(rng, (24, 4))
    with pytest.raises(vostok.InvalidArgument, match=r"rhs has shape \(20, 4\), and must have \(24, 4\)"):
        vostok.sddmm(a, x, x)
    with pytest.raises(vostok.InvalidArgument, match=r"lhs has shape \(24, 4\), and must have \(20, 4\)"):
        vostok.sddmm(a, y, y)
    with pytest.raises(vostok.InvalidArgument, match=r"key has shape \(20, 4\), and must have \(24, 4\)"):
        vostok.attention(x, x, y, a)
    with pytest.raises(vostok.InvalidArgument, match=r"output_gradient has shape \(3,\)"):
        vostok.softmax_backward(vostok.softmax(a), np.zeros(3, np.float32))
    with pytest.raises(vostok.InvalidType, match="float64"):
        vostok.sddmm(a, x.astype(np.float64), y)


def test_arrays_of_the_device_give_arrays_of_the_device(context, rng):
    needs_host_memory(context)
    parts = sparse(rng, 20, 24)
    mask = csr(context, parts)
    q, k, v = numbers(rng, (20, 16)), numbers(rng, (24, 16)), numbers(rng, (24, 16))
    scores = vostok.sddmm(mask, OnDevice(q), OnDevice(k))
    assert isinstance(scores.values, vostok.DeviceArray)
    assert_close(scores.values.numpy(), at(wide(q) @ wide(k).T, parts))
    found = vostok.attention(OnDevice(q), OnDevice(k), OnDevice(v), mask)
    assert_close(found.numpy(), wide(vostok.attention(q, k, v, mask)))
