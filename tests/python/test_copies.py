"""The way of a GPU, over the emulator: operands are copied in and out, workspaces are kept, streams are waited for."""

import dataclasses

import numpy as np
import pytest

import vostok
from harness import OnDevice, assert_close, csr, numbers, poisoned, softmax, sparse, wide
from vostok import _arrays, _placement


@pytest.fixture(scope="module")
def context():
    """A context that takes its device for a GPU: its memory is not the host's, as far as the package knows."""
    made = vostok.Context("emulator", log=lambda level, line: None)
    made.device = dataclasses.replace(made.device, gpu=True)
    return made


def test_numpy_goes_in_and_comes_out(context, rng):
    parts = sparse(rng, 16, 24)
    a = csr(context, parts)
    assert isinstance(a.values, vostok.DeviceArray)
    x = numbers(rng, (2, 24, 8))
    for given in (x, x[0], x[0, :, ::2], x[0, :, 0], np.asfortranarray(x[0]), x[::-1], x[:, :, :0]):
        found = a @ given
        assert isinstance(found, np.ndarray)
        assert_close(found, parts[1] @ wide(given))
    assert_close(x[0].T @ a.T, (parts[1] @ x[0]).T)
    out = poisoned((16, 12))
    assert vostok.spmm(a, x[0], out=out[:, 1:9]) is not None
    assert_close(out[:, 1:9], parts[1] @ x[0])
    assert np.isnan(out[:, 0]).all() and np.isnan(out[:, 9:]).all()
    vostok.spmm(a, x[0], out=out[:, 1:9], accumulate=True)
    assert_close(out[:, 1:9], 2 * (parts[1] @ x[0]))
    bias, residual = numbers(rng, (16,)), numbers(rng, (3, 16))
    found = vostok.linear(x[0, :, :3].T, a, bias, residual=residual)
    assert_close(found, (parts[1] @ x[0, :, :3]).T + bias + residual)


def test_every_operation_copies_what_it_needs(context, rng):
    parts = sparse(rng, 20, 24, element="f16")
    a = csr(context, parts)
    assert_close(a.todense(), parts[1], "f16")
    assert_close(a.T.todense(), parts[1].T, "f16")
    data, indices, indptr = a.numpy()
    assert np.array_equal(data, parts[0]) and np.array_equal(indices, parts[3]) and np.array_equal(indptr, parts[2])
    mask = csr(context, sparse(rng, 20, 24))
    pattern = mask.todense() != 0
    q, k, v = numbers(rng, (2, 20, 16)), numbers(rng, (2, 24, 16)), numbers(rng, (2, 24, 8))
    p = softmax(wide(q) @ np.swapaxes(wide(k), -1, -2), pattern, 0.25)
    assert_close(vostok.attention(q, k, v, mask), p @ wide(v), factor=4)
    scores = vostok.softmax(vostok.sddmm(mask, q, k), scale=0.25)
    assert_close(scores @ v, p @ wide(v), factor=4)
    gradients = vostok.attention_backward(q, k, v, np.ones((2, 20, 8), np.float32), mask)
    assert all(isinstance(gradient, np.ndarray) for gradient in gradients)
    assert_close(gradients[2], np.swapaxes(p, -1, -2) @ np.ones((2, 20, 8)), factor=4)
    y = vostok.softmax_backward(scores, numbers(rng, (2, mask.nnz)))
    assert isinstance(y.values, vostok.DeviceArray) and np.isfinite(y.values.numpy()).all()
    image = numbers(rng, (1, 3, 6, 6))
    assert isinstance(vostok.im2col(image, context=context), np.ndarray)
    assert vostok.depthwise_convolution(image, numbers(rng, (3, 3, 3)), context=context).shape == (1, 3, 4, 4)
    assert vostok.bias_activation(image[0], numbers(rng, (6,)), out=image[0], context=context).base is image
    packed = a.pack(8)
    x = numbers(rng, (24, 8), "f16")
    assert_close(packed @ x, parts[1] @ wide(x), "f16")


def test_workspaces_are_shared_by_a_threads_calls_on_a_stream(context):
    kept = [
        _placement._device_workspace(context, stream, size) for stream, size in ((1, 100), (1, 50), (2, 100), (1, 200))
    ]
    assert kept[0] is kept[1] and kept[0] is not kept[2] and kept[3] is not kept[0]
    assert kept[3].nbytes == 200


def test_arrays_stay_on_the_device_and_show_their_stream(context, rng):
    parts = sparse(rng, 16, 24)
    a, x = csr(context, parts), numbers(rng, (24, 8))
    found = a @ OnDevice(x, stream=2)
    assert isinstance(found, vostok.DeviceArray) and found.stream == 2
    interface = found.__cuda_array_interface__
    assert interface["stream"] == 2 and interface["shape"] == (16, 8) and interface["version"] == 3
    assert interface["data"] == (found.address, False) and interface["typestr"] == "<f4"
    assert (a @ OnDevice(x)).stream == 1  # the legacy default stream
    assert_close(found.numpy(), parts[1] @ x)


def test_work_of_other_streams_is_waited_for(context, rng, monkeypatch):
    parts = sparse(rng, 16, 24)
    a, x = csr(context, parts), numbers(rng, (24, 8))
    waited = []
    monkeypatch.setattr(_placement, "settle", lambda context, address, stream: waited.append((address, stream)))
    vostok.spmm(a, OnDevice(x, stream=2))
    assert not waited
    vostok.spmm(a, OnDevice(x, stream=2), stream=1)
    assert waited == [(x.ctypes.data, 2)]


def test_streams_of_other_libraries_are_taken(context, rng, monkeypatch):
    class Stream:
        def __init__(self, *answer):
            self.answer = answer

        def __cuda_stream__(self):
            return self.answer

    a, x = csr(context, sparse(rng, 16, 24)), numbers(rng, (24, 8))
    assert vostok.spmm(a, OnDevice(x), stream=Stream(0, 2)).stream == 2
    assert context.plan(vostok.Spmm(n=3), a.topology, stream=Stream(0, 2)).family
    for wrong in (Stream(), Stream(1, 2, 3), Stream(0, "x"), "x", 1.5):
        with pytest.raises(vostok.InvalidType, match="stream is"):
            vostok.spmm(a, OnDevice(x), stream=wrong)


def test_memory_is_given_back_behind_the_work_on_it(context, monkeypatch):
    waited = []
    monkeypatch.setattr(_arrays, "settle", lambda context, address, stream: waited.append(stream))
    array = context.array(np.ones(4, np.float32))
    del array
    assert not waited  # it was complete
    array = context.array(np.ones(4, np.float32))
    array.stream = 2
    del array
    assert waited == [2]
