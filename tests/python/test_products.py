"""Products of a sparse and a dense matrix against NumPy in float64."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse

import vostok
from harness import OnDevice, assert_close, csr, execute, needs_host_memory, numbers, poisoned, sparse, wide

ELEMENTS = ("f32", "f16", "bf16")


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("transposed", (False, True))
def test_a_plan_multiplies_onto_poisoned_memory(context, rng, element, transposed):
    parts = sparse(rng, 24, 40, element=element)
    a = csr(context, parts, element)
    dense = parts[1].T if transposed else parts[1]
    b = numbers(rng, (dense.shape[1], 8), element)
    output = poisoned((dense.shape[0], 8), element)
    plan = context.plan(vostok.Spmm(n=8, element=element, sparse_transposed=transposed), a.topology)
    execute(plan, values=parts[0], dense=b, output=output)
    assert_close(output, dense @ wide(b, element), element)


@pytest.mark.parametrize(
    "dense_layout, output_layout", list(itertools.product(("row_major", "column_major"), repeat=2))
)
def test_layouts_and_leading_dimensions_of_a_plan(context, rng, dense_layout, output_layout):
    parts = sparse(rng, 16, 20)
    a = csr(context, parts)
    b = numbers(rng, (20, 12))
    stored = b if dense_layout == "row_major" else np.ascontiguousarray(b.T)
    output = poisoned((16, 12) if output_layout == "row_major" else (12, 16))
    plan = context.plan(vostok.Spmm(n=12, dense_layout=dense_layout, output_layout=output_layout), a.topology)
    execute(plan, values=parts[0], dense=stored, output=output)
    assert_close(output if output_layout == "row_major" else output.T, parts[1] @ b)


def test_a_plan_of_several_n_serves_each(context, rng):
    parts = sparse(rng, 16, 20)
    a = csr(context, parts)
    plan = context.plan(vostok.Spmm(n_values=(1, 8, 16)), a.topology)
    for n in (1, 3, 8, 16):
        b, output = numbers(rng, (20, n)), poisoned((16, n))
        execute(plan, values=parts[0], dense=b, output=output, n=n)
        assert_close(output, parts[1] @ b)
    with pytest.raises(vostok.InvalidArgument, match="17"):
        execute(plan, values=parts[0], dense=numbers(rng, (20, 17)), output=poisoned((16, 17)), n=17)


def test_matrices_of_scipy_in_every_format(context, rng):
    w = scipy.sparse.random(20, 30, 0.3, dtype=np.float32, random_state=int(rng.integers(1000)))
    x = numbers(rng, (30, 4))
    for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        assert_close(vostok.csr(w.asformat(form), context=context) @ x, w.toarray().astype(float) @ x)
    assert_close(vostok.csr(scipy.sparse.csr_array(w), context=context) @ x, w.toarray().astype(float) @ x)


@pytest.mark.parametrize("offsets_type, columns_type", list(itertools.product(("i4", "i8", "u2"), repeat=2)))
def test_index_types(context, rng, offsets_type, columns_type):
    values, dense, offsets, columns = sparse(rng, 20, 30)
    a = vostok.csr((values, columns.astype(columns_type), offsets.astype(offsets_type), (20, 30)), context=context)
    x = numbers(rng, (30, 4))
    assert_close(a @ x, dense @ x)


def test_a_dense_matrix_above_a_threshold_and_its_largest_elements(context, rng):
    w = numbers(rng, (12, 16))
    a = vostok.csr(w, threshold=0.5, context=context)
    assert np.array_equal(a.todense(), np.where(abs(w) > 0.5, w, 0))
    rows = vostok.csr(w, count=3, per="row", context=context)
    assert np.array_equal((rows.todense() != 0).sum(axis=1), np.full(12, 3))
    assert vostok.csr(w, count=7, context=context).nnz == 7


def test_products_with_vectors_batches_and_from_the_left(context, rng):
    parts = sparse(rng, 20, 30)
    a, dense = csr(context, parts), parts[1]
    x = numbers(rng, (2, 3, 30, 5))
    assert_close(a @ x, dense @ wide(x))
    assert_close(a @ x[0, 0, :, 0], dense @ x[0, 0, :, 0])
    left = numbers(rng, (2, 7, 20))
    assert_close(left @ a, wide(left) @ dense)
    assert_close(left[0, 0] @ a, wide(left[0, 0]) @ dense)
    assert_close(a.T @ left[0].T, dense.T @ left[0].T)
    assert_close(x[0, 0].T @ a.T, x[0, 0].T @ dense.T)
    assert a.T.shape == (30, 20) and a.T.T.shape == (20, 30)


def test_a_batch_of_values(context, rng):
    parts = sparse(rng, 10, 12, batch=(2, 3))
    a = csr(context, parts)
    x = numbers(rng, (2, 3, 12, 4))
    assert_close(a @ x, parts[1] @ wide(x))
    assert np.array_equal(a.todense(), parts[1].astype(np.float32))
    assert np.array_equal(a.T.todense(), np.swapaxes(parts[1], -1, -2).astype(np.float32))
    with pytest.raises(vostok.InvalidArgument, match=r"leading axes \(\).*\(2, 3\)"):
        a @ x[0, 0]


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": gelu,
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_epilogues(context, rng, activation):
    parts = sparse(rng, 16, 24)
    a, dense = csr(context, parts), parts[1]
    x, bias, residual = numbers(rng, (24, 8)), numbers(rng, (16,)), numbers(rng, (16, 8))
    found = vostok.spmm(a, x, bias=bias, residual=residual, activation=activation, scale=0.5)
    assert_close(found, ACTIVATIONS[activation](0.5 * (dense @ x) + bias[:, None] + residual), factor=4)
    columns = numbers(rng, (8,))
    found = vostok.spmm(a, x, bias=columns, bias_per="column", activation=activation)
    assert_close(found, ACTIVATIONS[activation](dense @ x + columns), factor=4)


@pytest.mark.parametrize("element", ("f16", "bf16"))
def test_a_bias_of_the_element_type(context, rng, element):
    parts = sparse(rng, 16, 24, element=element)
    a = csr(context, parts, element)
    x, bias = numbers(rng, (24, 8), element), numbers(rng, (16,), element)
    found = vostok.spmm(a, x, bias=bias)
    assert_close(found, parts[1] @ wide(x, element) + wide(bias, element)[:, None], element)
    single = wide(bias, element).astype(np.float32)
    assert np.array_equal(vostok.spmm(a, x, bias=single), found)
    assert_close(vostok.linear(x.T, a, bias), wide(found, element).T, element)
    with pytest.raises(vostok.InvalidType, match="bias has elements of float64"):
        vostok.spmm(a, x, bias=single.astype(np.float64))


def test_a_linear_layer(context, rng):
    parts = sparse(rng, 16, 24)
    w, dense = csr(context, parts), parts[1]
    x, bias, residual = numbers(rng, (2, 5, 24)), numbers(rng, (16,)), numbers(rng, (2, 5, 16))
    assert_close(vostok.linear(x, w), wide(x) @ dense.T)
    found = vostok.linear(x, w, bias, residual=residual, activation="relu")
    assert_close(found, np.maximum(wide(x) @ dense.T + bias + residual, 0))
    assert_close(vostok.linear(x[0, 0], w, bias), dense @ x[0, 0] + bias)
    assert_close(vostok.linear(numbers(rng, (3, 16)) * 0 + 1, w.T), np.ones((3, 16)) @ dense)


def test_the_result_is_written_where_it_is_asked_for(context, rng):
    parts = sparse(rng, 16, 24)
    a, x = csr(context, parts), numbers(rng, (24, 8))
    out = poisoned((16, 8))
    assert vostok.spmm(a, x, out=out) is out
    assert_close(out, parts[1] @ x)
    vostok.spmm(a, x, out=out, accumulate=True)
    assert_close(out, 2 * (parts[1] @ x))
    wider = poisoned((16, 12))
    vostok.spmm(a, x, out=wider[:, 2:10])
    assert_close(wider[:, 2:10], parts[1] @ x)
    assert np.isnan(wider[:, :2]).all() and np.isnan(wider[:, 10:]).all()
    turned = poisoned((8, 16))
    vostok.spmm(a, x, out=turned.T)
    assert_close(turned.T, parts[1] @ x)
    assert_close(vostok.linear(x.T, a, out=poisoned((8, 16))), (parts[1] @ x).T)


def test_dense_operands_of_every_stride(context, rng):
    parts = sparse(rng, 16, 24)
    a, dense = csr(context, parts), parts[1]
    whole = numbers(rng, (4, 48, 24))
    for x in (whole[0, :24, :8], whole[0, ::2, 3:9], whole[0, 24:, ::2], whole[0, 23::-1, :8], whole[0, :20].T,
              whole[::2, :24], whole[1:, ::2, ::4], whole.transpose(2, 1, 0)[:3, :24],
              np.broadcast_to(whole[0, :24, :1], (24, 6)), whole[0, :24, 4:5], whole[0, :24, :0]):  # fmt: skip
        assert_close(a @ x, dense @ wide(x))
    shifted = np.frombuffer(bytearray(24 * 8 * 4 + 1), np.uint8)[1:].view(np.float32).reshape(24, 8)
    shifted[...] = whole[0, :24, :8]
    assert shifted.ctypes.data % 4 != 0
    assert_close(a @ shifted, dense @ whole[0, :24, :8])


def test_output_types(context, rng):
    parts = sparse(rng, 16, 24, element="f16")
    x = numbers(rng, (24, 8), "f16")
    found = vostok.spmm(csr(context, parts), x, output="f32")
    assert found.dtype == np.float32
    assert_close(found, parts[1] @ wide(x))


def test_sizes_of_zero(context, rng):
    parts = sparse(rng, 16, 24)
    a = csr(context, parts)
    assert (a @ numbers(rng, (24, 0))).shape == (16, 0)
    assert (a @ numbers(rng, (0, 24, 5))).shape == (0, 16, 5)
    assert vostok.linear(numbers(rng, (0, 24)), a).shape == (0, 16)
    empty = vostok.csr(np.zeros((5, 6), np.float32), context=context)
    assert empty.nnz == 0
    assert np.array_equal(empty @ numbers(rng, (6, 3)), np.zeros((5, 3), np.float32))
    bias = numbers(rng, (5,))
    assert_close(vostok.spmm(empty, numbers(rng, (6, 3)), bias=bias), np.repeat(bias[:, None], 3, 1).astype(float))
    nothing = vostok.csr(
        (np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(1, np.int32), (0, 6)), context=context
    )
    assert (nothing @ numbers(rng, (6, 3))).shape == (0, 3)
    plan = context.plan(vostok.Spmm(n=0), a.topology)
    plan.execute(0)  # null pointers are allowed where there is nothing to do


def test_bfloat16_of_ml_dtypes_is_taken_by_its_name(context, rng):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    parts = sparse(rng, 16, 24, element="bf16")
    a = csr(context, (parts[0].view(ml_dtypes.bfloat16), *parts[1:]))
    x = numbers(rng, (24, 8)).astype(ml_dtypes.bfloat16)
    found = a @ x
    assert a.element == "bf16" and found.dtype == ml_dtypes.bfloat16
    assert_close(found.view(np.uint16), parts[1] @ x.astype(float), "bf16")


def test_arrays_of_the_device_are_used_in_place(context, rng):
    needs_host_memory(context)
    values, dense, offsets, columns = sparse(rng, 16, 24)
    shown = tuple(OnDevice(array) for array in (values, columns, offsets))
    a = vostok.csr((*shown, (16, 24)), context=context)
    x = numbers(rng, (24, 8))
    found = a @ OnDevice(x, stream=1)
    assert isinstance(found, vostok.DeviceArray)
    assert_close(found.numpy(), dense @ x)
    out = poisoned((16, 8))
    target = OnDevice(out)
    assert vostok.spmm(a, OnDevice(x), out=target) is target
    assert_close(out, dense @ x)
    values *= 2
    assert_close(a @ x, 2 * dense @ x)  # the values are the caller's memory
    assert_close((a @ OnDevice(x[:, 0])).numpy(), 2 * dense @ x[:, 0])
    assert_close(np.asarray(vostok.linear(OnDevice(np.ascontiguousarray(x.T)), a)), (2 * dense @ x).T)
