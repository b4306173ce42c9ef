"""What sparse convolutional networks need beside products, as functions of arrays."""

from __future__ import annotations

import math
from typing import Any

from ._arrays import View, view
from ._context import Context, default_context
from ._dense import alignment, bias_of, packed, typed
from ._errors import InvalidArgument, InvalidType
from ._numbers import Stream, integer
from ._placement import Placement
from ._problems import BiasActivation, DepthwiseConvolution, Im2col
from ._sampled import floating


def depthwise_convolution(
    x: Any,
    filters: Any,
    bias: Any = None,
    *,
    stride: int = 1,
    padding: int | tuple[int, int, int, int] = 0,
    activation: str = "none",
    element: str | None = None,
    context: Context | None = None,
    stream: Stream = 0,
) -> Any:
    """Every channel with a filter of its own: x [batch, channels, height, width], filters [channels, size, size] (3 or
    5), bias [channels], f32 or as x -> [batch, channels, height, width]. padding: all sides, or
    (top, bottom, left, right)."""
    where = "apply a depthwise convolution"
    image, found = _image(where, x, element)
    kernels = packed(where, "filters", typed(where, "filters", filters, found))
    channels = image.shape[1]
    if len(kernels.shape) != 3 or kernels.shape[0] != channels or kernels.shape[1] != kernels.shape[2]:
        raise InvalidArgument(
            f"cannot {where}: filters have shape {kernels.shape}, and must have ({channels}, size, size)"
        )
    added, bias_element = (None, "f32") if bias is None else bias_of(where, bias, channels, found)
    sides = _padding(where, padding)
    size = kernels.shape[1]
    height, width = _sizes(where, image, (size, size), stride, sides)
    chosen = default_context() if context is None else context
    place = Placement(where, chosen, stream, image, kernels, added)
    output = place.output((image.shape[0], channels, height, width), found)
    used = [None if seen is None else place.input(seen) for seen in (image, kernels, added)]
    problem = DepthwiseConvolution(
        batch=image.shape[0],
        channels=channels,
        height=image.shape[2],
        width=image.shape[3],
        kernel=size,
        stride=stride,
        **sides,
        element=found,
        alignment_bytes=alignment(*used, output),
        bias=added is not None,
        bias_element=bias_element,
        activation=activation,
    )
    plan = chosen.plan(problem, stream=place.stream)
    workspace, owner = place.workspace(plan.workspace_bytes)
    addresses = [0 if seen is None else seen.address for seen in used]
    plan.execute(
        place.stream,
        input=addresses[0],
        filters=addresses[1],
        bias=addresses[2],
        output=output.address,
        workspace=workspace,
    )
    del owner
    return place.finish(output)


def im2col(
    x: Any,
    kernel: tuple[int, int] = (3, 3),
    *,
    stride: int = 1,
    padding: int | tuple[int, int, int, int] = 0,
    element: str | None = None,
    context: Context | None = None,
    stream: Stream = 0,
) -> Any:
    """Patches as columns: x [batch, channels, height, width] -> [batch, channels * kernel height * kernel width,
    places], rows ordered channel, filter row, filter column."""
    where = "make columns of an image"
    image, found = _image(where, x, element)
    if not isinstance(kernel, tuple) or len(kernel) != 2:
        raise InvalidType(f"cannot {where}: kernel is {kernel!r}, and must be (height, width)")
    sides = _padding(where, padding)
    height, width = _sizes(where, image, kernel, stride, sides)
    chosen = default_context() if context is None else context
    place = Placement(where, chosen, stream, image)
    output = place.output((image.shape[0], image.shape[1] * math.prod(kernel), height * width), found)
    used = place.input(image)
    problem = Im2col(
        batch=image.shape[0],
        channels=image.shape[1],
        height=image.shape[2],
        width=image.shape[3],
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride=stride,
        **sides,
        element=found,
        alignment_bytes=alignment(used, output),
    )
    plan = chosen.plan(problem, stream=place.stream)
    workspace, owner = place.workspace(plan.workspace_bytes)
    plan.execute(place.stream, input=used.address, output=output.address, workspace=workspace)
    del owner
    return place.finish(output)


def bias_activation(
    x: Any,
    bias: Any,
    *,
    bias_per: str = "row",
    activation: str = "relu",
    element: str | None = None,
    context: Context | None = None,
    out: Any = None,
    stream: Stream = 0,
) -> Any:
    """activation(x + bias): x [.., rows, columns], bias [rows], f32 or as x, or [columns] with bias_per="column". out
    may be x."""
    where = "add a bias"
    seen, found = floating(where, "x", x, element)
    if len(seen.shape) < 2:
        raise InvalidArgument(f"cannot {where}: x has shape {seen.shape}, and must have [.., rows, columns]")
    seen = packed(where, "x", seen)
    if bias_per not in ("row", "column"):
        raise InvalidArgument(f"cannot {where}: bias_per is {bias_per!r}, and may be row or column")
    length = seen.shape[-2] if bias_per == "row" else seen.shape[-1]
    added, bias_element = bias_of(where, bias, length, found)
    chosen = default_context() if context is None else context
    place = Placement(where, chosen, stream, seen, added, None if out is None else view(where, "out", out))
    output = place.output(seen.shape, found, out)
    if not output.is_packed():
        raise InvalidArgument(f"cannot {where}: out has strides {output.strides}, and must be packed")
    used, addend = place.input(seen), place.input(added)
    problem = BiasActivation(
        batch=math.prod(seen.shape[:-2]),
        rows=seen.shape[-2],
        columns=seen.shape[-1],
        element=found,
        alignment_bytes=alignment(used, addend, output),
        bias=f"per_{bias_per}",
        bias_element=bias_element,
        activation=activation,
    )
    plan = chosen.plan(problem, stream=place.stream)
    workspace, owner = place.workspace(plan.workspace_bytes)
    plan.execute(place.stream, input=used.address, bias=addend.address, output=output.address, workspace=workspace)
    del owner
    return place.finish(output)


def _image(where: str, x: Any, element: str | None) -> tuple[View, str]:
    seen, found = floating(where, "x", x, element)
    if len(seen.shape) != 4:
        raise InvalidArgument(
            f"cannot {where}: x has shape {seen.shape}, and must have [batch, channels, height, width]"
        )
    return packed(where, "x", seen), found


def _padding(where: str, padding: Any) -> dict[str, int]:
    sides = padding if isinstance(padding, tuple) else (padding,) * 4
    if len(sides) != 4:
        raise InvalidType(f"cannot {where}: padding is {padding!r}, and must be an int or (top, bottom, left, right)")
    names = ("padding_top", "padding_bottom", "padding_left", "padding_right")
    return {name: integer(where, "padding", side) for name, side in zip(names, sides)}


def _sizes(where: str, image: View, kernel: tuple[int, int], stride: int, sides: dict[str, int]) -> tuple[int, int]:
    """Places of the kernel in a padded image; what makes no sense is left to the planner, which refuses it by name."""
    if integer(where, "stride", stride) < 1 or min(kernel) < 1:
        return 0, 0
    height = image.shape[2] + sides["padding_top"] + sides["padding_bottom"]
    width = image.shape[3] + sides["padding_left"] + sides["padding_right"]
    return max((height - kernel[0]) // stride + 1, 0), max((width - kernel[1]) // stride + 1, 0)
