"""What sparse convolutional networks need beside products, against NumPy in float64."""

import numpy as np
import pytest

import vostok
from harness import assert_close, execute, numbers, poisoned, wide


def patches(image, kernel, stride, padding):
    """[batch, channels, kernel height, kernel width, height, width] of a float64 image."""
    top, bottom, left, right = padding
    padded = np.pad(image, ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(2, 3))[:, :, ::stride, ::stride]
    return windows.transpose(0, 1, 4, 5, 2, 3)


@pytest.mark.parametrize("element", ("f32", "f16", "bf16"))
@pytest.mark.parametrize("size, stride, padding", ((3, 1, 1), (3, 2, (0, 1, 0, 1)), (5, 1, 2)))
def test_a_depthwise_convolution(context, rng, element, size, stride, padding):
    x, filters = numbers(rng, (2, 3, 9, 11), element), numbers(rng, (3, size, size), element)
    bias = numbers(rng, (3,))
    sides = padding if isinstance(padding, tuple) else (padding,) * 4
    found = vostok.depthwise_convolution(x, filters, bias, stride=stride, padding=padding, activation="relu",
                                         element=element, context=context)  # fmt: skip
    windows = patches(wide(x, element), (size, size), stride, sides)
    exact = np.einsum("bcijhw,cij->bchw", windows, wide(filters, element)) + bias[:, None, None]
    assert_close(found, np.maximum(exact, 0), element)
    own = numbers(rng, (3,), element)
    again = vostok.depthwise_convolution(
        x, filters, own, stride=stride, padding=padding, element=element, context=context
    )
    assert_close(again, exact - bias[:, None, None] + wide(own, element)[:, None, None], element)


def test_columns_of_an_image(context, rng):
    x = numbers(rng, (2, 3, 9, 11))
    found = vostok.im2col(x, (3, 2), stride=2, padding=1, context=context)
    exact = patches(wide(x), (3, 2), 2, (1,) * 4)
    assert np.array_equal(found, exact.reshape(2, 18, -1).astype(np.float32))


@pytest.mark.parametrize("per", ("row", "column"))
def test_a_bias_and_an_activation(context, rng, per):
    x = numbers(rng, (2, 5, 7))
    bias = numbers(rng, (5,) if per == "row" else (7,))
    exact = np.maximum(wide(x) + (bias[:, None] if per == "row" else bias), 0)
    assert_close(vostok.bias_activation(x, bias, bias_per=per, context=context), exact)
    assert vostok.bias_activation(x, bias, bias_per=per, out=x, context=context) is x
    assert_close(x, exact)


def test_plans_write_onto_poisoned_memory(context, rng):
    x, filters, bias = numbers(rng, (1, 4, 6, 6)), numbers(rng, (4, 3, 3)), numbers(rng, (4,))
    sizes = {"channels": 4, "height": 6, "width": 6}
    output = poisoned((1, 4, 4, 4))
    execute(context.plan(vostok.DepthwiseConvolution(**sizes, bias=True)), input=x, filters=filters, bias=bias,
            output=output)  # fmt: skip
    assert_close(output, wide(vostok.depthwise_convolution(x, filters, bias, context=context)))
    columns = poisoned((1, 36, 16))
    execute(context.plan(vostok.Im2col(**sizes)), input=x, output=columns)
    assert np.array_equal(columns, vostok.im2col(x, context=context))
    added = poisoned((4, 36))
    plan = context.plan(vostok.BiasActivation(rows=4, columns=36, activation="silu"))
    execute(plan, input=x, bias=bias, output=added)
    assert_close(added, wide(vostok.bias_activation(x.reshape(4, 36), bias, activation="silu", context=context)))


def test_what_makes_no_sense_is_named(context, rng):
    x = numbers(rng, (1, 4, 6, 6))
    with pytest.raises(vostok.InvalidArgument, match=r"filters have shape \(3, 3, 3\)"):
        vostok.depthwise_convolution(x, numbers(rng, (3, 3, 3)), context=context)
    with pytest.raises(vostok.VostokError, match="kernel = 4"):
        vostok.depthwise_convolution(x, numbers(rng, (4, 4, 4)), context=context)
    with pytest.raises(vostok.VostokError, match="stride = 0"):
        vostok.im2col(x, stride=0, context=context)
    with pytest.raises(vostok.InvalidType, match="padding"):
        vostok.im2col(x, padding=(1, 2), context=context)
    with pytest.raises(vostok.InvalidArgument, match=r"x has shape \(4, 6, 6\)"):
        vostok.im2col(x[0], context=context)
    with pytest.raises(vostok.InvalidArgument, match=r"bias has shape \(3,\)"):
        vostok.bias_activation(x, numbers(rng, (3,)), context=context)
