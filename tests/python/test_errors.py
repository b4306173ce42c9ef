"""What goes wrong: exceptions of the documented types, which name the value, and nothing half-done."""

import copy
import pickle

import numpy as np
import pytest

import vostok
from harness import OnDevice, csr, numbers, poisoned, sparse
from vostok import _c
from vostok._errors import error_of

TYPES = {
    "invalid_argument": (vostok.InvalidArgument, ValueError),
    "invalid_topology": (vostok.InvalidTopology, ValueError),
    "misaligned_pointer": (vostok.MisalignedPointer, ValueError),
    "wrong_device": (vostok.WrongDevice, TypeError),
    "out_of_memory": (vostok.OutOfMemory, MemoryError),
    "io_failure": (vostok.IoFailure, OSError),
    "after_fork": (vostok.AfterFork, RuntimeError),
}


@pytest.mark.parametrize("status, name", list(enumerate(_c.STATUSES))[1:])
def test_every_status_has_its_exception(status, name):
    error = error_of(status, "a sentence")
    assert isinstance(error, vostok.VostokError) and isinstance(error, RuntimeError)
    assert error.code == name and str(error) == "a sentence"
    assert isinstance(error, TYPES.get(name, (RuntimeError,)))


def test_exceptions_can_be_pickled_and_copied():
    error = error_of(3, "a sentence")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again)) == (type(error), str(error))


def test_objects_of_the_library_are_shared_by_copies_and_not_pickled(context, rng):
    topology = csr(context, sparse(rng, 8, 8)).topology
    assert copy.copy(topology) is topology and copy.deepcopy([topology])[0] is topology
    with pytest.raises(TypeError, match="cannot pickle Topology"):
        pickle.dumps(topology)


def test_structures_that_are_none_name_row_and_value(context):
    def make(offsets, columns, shape):
        return context.topology(np.array(offsets, np.int32), np.array(columns, np.int32), shape)

    with pytest.raises(vostok.InvalidTopology, match="row 1"):
        make([0, 2, 1, 2], [0, 1], (3, 4))
    with pytest.raises(vostok.InvalidTopology, match="4"):
        make([0, 1, 2], [0, 4], (2, 4))
    with pytest.raises(vostok.InvalidTopology, match="-1"):
        make([0, 1, 2], [0, -1], (2, 4))
    with pytest.raises(vostok.InvalidTopology, match=r"row_offsets\[2\] is 3, and there are 2"):
        make([0, 1, 3], [0, 1], (2, 4))
    with pytest.raises(vostok.InvalidArgument, match=r"row_offsets has shape \(3,\), and must have \(4,\)"):
        make([0, 1, 2], [0, 1], (3, 4))
    with pytest.raises(vostok.InvalidArgument, match=r"shape is \(-3, 4\)"):
        context.topology(np.zeros(1, np.int32), np.zeros(0, np.int32), (-3, 4))
    assert isinstance(vostok.InvalidTopology("x"), ValueError)


def test_indices_of_other_types(context):
    offsets, columns = np.array([0, 1, 2]), np.array([0, 1])
    assert context.topology([0, 1, 2], [0, 1], (2, 2)).nonzeros == 2
    assert context.topology(offsets.astype(np.int8), columns.astype(np.uint32), (2, 2)).nonzeros == 2
    assert context.topology(np.repeat(offsets, 2)[::2], columns[::-1], (2, 2)).nonzeros == 2
    for wrong in (
        offsets.astype(np.float32),
        offsets.astype(np.uint64),
        np.array([0j, 1, 2]),
        ["a", "b", "c"],
        object(),
    ):
        with pytest.raises(vostok.InvalidType, match="row_offsets"):
            context.topology(wrong, columns, (2, 2))
    with pytest.raises(vostok.InvalidArgument, match="one axis"):
        context.topology(offsets[None], columns, (2, 2))
    for shape in (3, (2,), (2, 2, 2), (2.5, 2), "ab", None):
        with pytest.raises(TypeError, match="shape|rows"):
            context.topology(offsets, columns, shape)


def test_a_problem_with_a_wrong_field_is_refused_by_name(context, rng):
    topology = csr(context, sparse(rng, 8, 8)).topology
    for fields, kind, words in (
        ({"element": "f64"}, ValueError, "element is 'f64', and may be f32, f16 or bf16"),
        ({"element": np.float32}, TypeError, "element is .*float32"),
        ({"math": 1}, TypeError, "math is 1"),
        ({"n": 2.5}, TypeError, "n is 2.5, and must be an int"),
        ({"n": "8"}, TypeError, "n is '8'"),
        ({"n": 2**70}, ValueError, f"n is {2**70}"),
        ({"n": -1}, ValueError, "n .*-1"),
        ({"n_values": (1, 2**64)}, ValueError, "n_values"),
        ({"batch": -2}, ValueError, "batch .*-2"),
        ({"alignment_bytes": 3}, ValueError, "alignment_bytes .*3"),
        ({"deterministic": 2}, ValueError, "deterministic.*2"),
    ):
        with pytest.raises(kind, match=words) as caught:
            context.plan(vostok.Spmm(**{"n": 8, **fields}), topology)
        assert isinstance(caught.value, vostok.VostokError) and caught.value.code == "invalid_argument"


def test_a_plan_needs_a_problem_a_topology_and_options_that_are(context, rng):
    topology = csr(context, sparse(rng, 8, 8)).topology
    problem = vostok.Spmm(n=8)
    for wrong in (None, "mask", csr(context, sparse(rng, 8, 8))):
        with pytest.raises(vostok.InvalidType, match="topology is"):
            context.plan(problem, wrong)
    with pytest.raises(vostok.InvalidType, match="no problem"):
        context.plan({"n": 8}, topology)
    with pytest.raises(vostok.InvalidArgument, match="no sparse matrix"):
        context.plan(vostok.Im2col(), topology)
    with pytest.raises(vostok.InvalidArgument, match="effort is 'most'"):
        context.plan(problem, topology, effort="most")
    with pytest.raises(vostok.InvalidArgument, match="policy is 'hot'"):
        context.plan(problem, topology, policy="hot")
    with pytest.raises(vostok.InvalidType, match="progress is 3"):
        context.plan(problem, topology, progress=3)
    with pytest.raises(vostok.VostokError, match="no_such_family"):
        context.plan(problem, topology, family="no_such_family")
    with pytest.raises(vostok.InvalidType, match="stream is 'x'"):
        context.plan(problem, topology, stream="x")


def test_arguments_of_execute_are_named(context, rng):
    parts = sparse(rng, 8, 8)
    plan = context.plan(vostok.Spmm(n=4), csr(context, parts).topology)
    x, y = numbers(rng, (8, 4)), poisoned((8, 4))
    given = {"values": parts[0].ctypes.data, "dense": x.ctypes.data, "output": y.ctypes.data}
    with pytest.raises(vostok.InvalidArgument, match="dense"):
        plan.execute(0, **{**given, "dense": 0})
    with pytest.raises(vostok.InvalidArgument, match="bias"):
        plan.execute(0, **given, bias=x.ctypes.data)
    with pytest.raises(vostok.MisalignedPointer, match="output") as caught:
        plan.execute(0, **{**given, "output": y.ctypes.data + 4})
    assert caught.value.code == "misaligned_pointer" and isinstance(caught.value, ValueError)
    for wrong in ("x", None, 1.5, b"x", x, 2**64):
        with pytest.raises(vostok.InvalidType):
            plan.execute(0, **{**given, "dense": wrong})
        with pytest.raises(vostok.InvalidType) if not isinstance(wrong, int) else pytest.raises(vostok.VostokError):
            plan.execute(wrong, **{**given, "output": y.ctypes.data + 4})
    with pytest.raises(TypeError):
        plan.execute(0, operand=1)
    assert np.isnan(y).all()


def test_objects_of_two_contexts_do_not_mix(context, rng):
    other = vostok.Context("emulator", log=lambda level, line: None)
    parts = sparse(rng, 8, 8)
    a = csr(context, parts)
    with pytest.raises(vostok.WrongDevice) as caught:
        other.plan(vostok.Spmm(n=4), a.topology)
    assert caught.value.code == "wrong_device" and isinstance(caught.value, TypeError)


def test_dense_operands_that_do_not_fit_are_named(context, rng):
    a = csr(context, sparse(rng, 8, 12))
    for x, kind, words in (
        (numbers(rng, (8, 4)), ValueError, r"b has shape \(8, 4\), and must have \[.., 12, n\]"),
        (numbers(rng, (12, 4)).astype(np.float64), TypeError, r"b has elements of float64.*astype\(numpy.float32\)"),
        (numbers(rng, (12, 4), "f16"), TypeError, "float16"),
        (np.zeros((12, 4), np.int32), TypeError, "int32"),
        (np.zeros((12, 4), ">f4"), TypeError, ">f4"),
        (np.float32(3), ValueError, r"shape \(\)"),
        (None, TypeError, "b "),
        ("text", TypeError, "b "),
        ([[1.0], [2.0, 3.0]], TypeError, "b is list"),
    ):
        with pytest.raises(kind, match=words) as caught:
            vostok.spmm(a, x)
        assert isinstance(caught.value, vostok.VostokError)
    with pytest.raises(vostok.InvalidArgument, match=r"x has shape \(3, 8\), and must have \[.., 12\]"):
        vostok.linear(numbers(rng, (3, 8)), a)
    with pytest.raises(vostok.InvalidType, match="must be a Csr"):
        vostok.spmm(numbers(rng, (8, 12)), numbers(rng, (12, 4)))


def test_what_is_written_and_added_must_fit(context, rng):
    a, x = csr(context, sparse(rng, 8, 12)), numbers(rng, (12, 4))
    frozen = poisoned((8, 4))
    frozen.flags.writeable = False
    for given, words in (
        ({"out": poisoned((4, 8))}, r"out has shape \(4, 8\), and must have \(8, 4\)"),
        ({"out": frozen}, "out is read-only"),
        ({"out": OnDevice(poisoned((8, 4)), read_only=True)}, "out is read-only"),
        ({"out": poisoned((16, 8))[::2, ::2]}, "out has shape .* and strides"),
        ({"residual": numbers(rng, (4, 8))}, "residual has shape"),
        ({"bias": numbers(rng, (4,))}, r"bias has shape \(4,\), and must have \(8,\)"),
        ({"bias": numbers(rng, (8,)), "bias_per": "matrix"}, "bias_per is 'matrix'"),
        ({"accumulate": True}, "accumulate needs out"),
        ({"activation": "tanh"}, "activation is 'tanh'"),
        ({"out": x[:8]}, "output"),
    ):
        if context.device.gpu and (words == "output" or "strides" in words):
            continue  # what is copied to and fro shares nothing, and lies as it likes
        with pytest.raises(vostok.InvalidArgument, match=words):
            vostok.spmm(a, x, **given)
    assert np.isnan(frozen).all()
    for given, words in (
        ({"scale": "much"}, "scale"),
        ({"out": poisoned((8, 4), "f16")}, "float16"),
        ({"bias": x[0] > 0}, "bool"),
    ):
        with pytest.raises(vostok.InvalidType, match=words):
            vostok.spmm(a, x, **given)


def test_a_matrix_is_made_of_what_fits(context, rng):
    values, dense, offsets, columns = sparse(rng, 8, 12)
    with pytest.raises(vostok.InvalidType, match=r"float64, and must have f32, f16 or bf16 \(element= converts\)"):
        vostok.csr((values.astype(np.float64), columns, offsets, (8, 12)), context=context)
    converted = vostok.csr((values.astype(np.float64), columns, offsets, (8, 12)), element="f32", context=context)
    assert np.array_equal(converted.values, values)
    with pytest.raises(vostok.InvalidArgument, match=r"values have shape \(3,\), and there are"):
        vostok.csr((values[:3], columns, offsets, (8, 12)), context=context)
    with pytest.raises(vostok.InvalidType, match="a tuple must be"):
        vostok.csr((values, columns, offsets), context=context)
    with pytest.raises(vostok.InvalidArgument, match="two axes"):
        vostok.csr(values, context=context)
    with pytest.raises(vostok.InvalidType, match="float64"):
        vostok.csr(dense, context=context)
    with pytest.raises(vostok.InvalidArgument, match="element is 'f8'"):
        vostok.csr(dense, element="f8", context=context)
    with pytest.raises(vostok.InvalidType, match="matrix"):
        vostok.csr(object(), context=context)
    mine = values.copy()
    a = vostok.csr((mine, columns, offsets, (8, 12)), context=context)
    mine[:] = 7
    assert np.array_equal(a.values, values)  # the host's values were copied


def test_interfaces_of_the_device_that_make_no_sense(context, rng):
    a, x = csr(context, sparse(rng, 8, 12)), numbers(rng, (12, 4))
    for changes, kind, words in (
        ({"stream": 0}, ValueError, "stream is 0"),
        ({"stream": -1}, ValueError, "stream is -1"),
        ({"stream": "s"}, ValueError, "stream is 's'"),
        ({"mask": OnDevice(x)}, TypeError, "mask"),
        ({"typestr": "<f8"}, TypeError, "float64"),
        ({"typestr": "nonsense"}, TypeError, "makes no sense"),
        ({"data": 5}, TypeError, "makes no sense"),
        ({"shape": None}, TypeError, "makes no sense"),
        ({"strides": (4, 96)}, None, ""),
        ({"strides": (32, 8), "shape": (12, 2)}, ValueError, "copy it first"),
        ({"data": (x.ctypes.data + 2, False), "shape": (12, 3)}, ValueError, "no multiple of 4 bytes"),
    ):
        shown = OnDevice(x, **changes)
        if kind is None:
            continue
        with pytest.raises(kind, match=words) as caught:
            vostok.spmm(a, shown)
        assert isinstance(caught.value, vostok.VostokError)
    with pytest.raises(vostok.InvalidArgument, match=r"streams differ \(\[1, 2\]\): give stream="):
        vostok.spmm(a, OnDevice(x, stream=1), out=OnDevice(poisoned((8, 4)), stream=2))
