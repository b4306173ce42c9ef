"""Layers of images over plans: vostok.torch has no operators for them. They are planned and packed once, by `ready`; a
call allocates its output by PyTorch and launches on the current stream, as a capture wants it.

Images lie [channels, images, height, width], where one product reads all of them as its columns, or, `by_image`,
[images, channels, height, width], a product for each.
"""

import torch
from contest import context, device_here, stream

import vostok
import vostok.torch as vt

ELEMENTS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


def _finished():
    """What is read by calls without a stream must be there."""
    if device_here() == "cuda":
        torch.cuda.synchronize()


def _pair(layer):
    return (layer.problem, *layer.structure) if layer.structure else layer.problem


def ready(layers, effort="cached", seconds=5.0):
    """Plans layers: their kernels are compiled several at a time, or measured one after the other, for so many seconds
    each, where effort asks for it."""
    if effort == "cached":
        for error in context().prepare([_pair(layer) for layer in layers], progress=False):
            if error:
                raise error
    for layer in layers:
        layer.take(context().plan(layer.problem, *layer.structure, effort=effort, budget_seconds=seconds))
    return layers


class Planned:
    """A layer of one plan, with the workspace that its calls need."""

    def __init__(self, problem, *structure):
        self.problem, self.structure = problem, structure

    def take(self, plan):
        self.plan = plan
        self.workspace = plan.make_workspace()
        self.workspace_address = self.workspace.address if self.workspace else 0


class Pointwise(Planned):
    """relu(W x + bias), a 1x1 convolution: weight [out, in], of which zeros are left out."""

    def __init__(self, weight, bias, images, places, math, by_image=False):
        a = vt.csr(weight)
        topology = context().topology(a.row_offsets.cpu().numpy(), a.column_indices.cpu().numpy(), a.shape)
        problem = vostok.Spmm(
            n=places if by_image else images * places,
            batch=images if by_image else 1,
            element=ELEMENTS[weight.dtype],
            math=math,
            value_lifetime="persistent",
            bias="per_row",
            bias_element=ELEMENTS[bias.dtype],
            activation="relu",
        )
        super().__init__(problem, topology)
        self.outputs, self.bias, self.axis = a.shape[0], bias.contiguous(), int(by_image)
        self.values = a.values.contiguous()

    def take(self, plan):
        super().take(plan)
        _finished()
        self.packed = plan.pack(self.values.data_ptr())
        _finished()
        self.values = None

    def __call__(self, x):
        output = x.new_empty((*x.shape[: self.axis], self.outputs, *x.shape[self.axis + 1 :]))
        self.plan.execute(
            stream(),
            packed=self.packed,
            dense=x.data_ptr(),
            output=output.data_ptr(),
            bias=self.bias.data_ptr(),
            workspace=self.workspace_address,
        )
        return output


class Depthwise(Planned):
    """relu(filters * x + bias), 3x3 with a border of one: filters [channels, 3, 3]. Where channels come first, the
    images of each count as channels, so that nothing is moved."""

    def __init__(self, filters, bias, images, size, stride, by_image=False):
        each = 1 if by_image else images
        problem = vostok.DepthwiseConvolution(
            batch=images // each,
            channels=filters.shape[0] * each,
            height=size,
            width=size,
            stride=stride,
            padding_top=1,
            padding_bottom=1,
            padding_left=1,
            padding_right=1,
            element=ELEMENTS[filters.dtype],
            bias=True,
            bias_element=ELEMENTS[bias.dtype],
            activation="relu",
        )
        super().__init__(problem)
        self.filters, self.bias = filters.repeat_interleave(each, 0), bias.repeat_interleave(each, 0)
        self.size = (size - 1) // stride + 1

    def __call__(self, x):
        output = x.new_empty((*x.shape[:2], self.size, self.size))
        self.plan.execute(
            stream(),
            input=x.data_ptr(),
            filters=self.filters.data_ptr(),
            bias=self.bias.data_ptr(),
            output=output.data_ptr(),
            workspace=self.workspace_address,
        )
        return output


class Columns(Planned):
    """The patches of a 3x3 convolution with a border of one and this stride: images [images, channels, height, width]
    -> [images, 9 channels, places down, places across]."""

    def __init__(self, images, stride):
        count, channels, height, width = images.shape
        problem = vostok.Im2col(
            batch=count,
            channels=channels,
            height=height,
            width=width,
            stride=stride,
            padding_top=1,
            padding_bottom=1,
            padding_left=1,
            padding_right=1,
            element=ELEMENTS[images.dtype],
        )
        super().__init__(problem)
        self.shape = (count, 9 * channels, (height - 1) // stride + 1, (width - 1) // stride + 1)

    def __call__(self, images):
        output = images.new_empty(self.shape)
        self.plan.execute(
            stream(), input=images.data_ptr(), output=output.data_ptr(), workspace=self.workspace_address
        )
        return output
