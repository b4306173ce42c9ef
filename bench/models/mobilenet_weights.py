"""Weights of MobileNetV1 with batch norm folded in: made of seeds for any width, or trained ones from a folder."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

import vostok.torch as vt

FIRST = 32
BLOCKS = ((1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512), *((1, 512),) * 5, (2, 1024), (1, 1024))
CLASSES = 1000


class Block(NamedTuple):
    """A depthwise 3x3 convolution and a 1x1 one."""

    stride: int
    filters: torch.Tensor  # [channels, 1, 3, 3]
    filter_bias: torch.Tensor
    weight: torch.Tensor  # [out, in, 1, 1]
    bias: torch.Tensor


class Network(NamedTuple):
    first: torch.Tensor  # [channels, 3, 3, 3]
    first_bias: torch.Tensor
    blocks: tuple
    classifier: torch.Tensor  # [classes, channels]
    classifier_bias: torch.Tensor

    def to(self, dtype, memory=torch.contiguous_format):
        """In another type, filters in this order of memory."""

        def moved(tensor):
            tensor = tensor.to(dtype)
            return tensor.contiguous(memory_format=memory) if tensor.dim() == 4 else tensor

        blocks = tuple(Block(block.stride, *map(moved, block[1:])) for block in self.blocks)
        return Network(
            moved(self.first),
            moved(self.first_bias),
            blocks,
            moved(self.classifier),
            moved(self.classifier_bias),
        )

    def bytes(self):
        tensors = [tensor for block in self.blocks for tensor in block[1:]]
        return sum(tensor.nbytes for tensor in (self.first, self.classifier, *tensors))

    def zeros(self):
        """The share of zeros in the 1x1 convolutions."""
        weights = [block.weight for block in self.blocks]
        return 1 - sum(int((weight != 0).sum()) for weight in weights) / sum(weight.numel() for weight in weights)


class Seeded:
    """Random weights with which activations keep their size."""

    def __init__(self, device):
        self.device = device
        self.generator = torch.Generator(device).manual_seed(5)

    def drawn(self, *shape, deviation=0.1):
        return torch.empty(shape, device=self.device).normal_(0, deviation, generator=self.generator)

    def pointwise(self, outputs, inputs, sparsity):
        """[out, in, 1, 1]; of the largest magnitudes so many are kept."""
        weight = self.drawn(outputs, inputs, deviation=1.0)
        if sparsity:
            weight = vt.dense(vt.csr(weight, count=max(1, round(weight.numel() * (1 - sparsity)))))
        return (weight * (2 / weight.square().sum(1).mean()) ** 0.5)[:, :, None, None]

    def ends(self, first, last):
        """First layer and classifier."""
        return (
            self.drawn(first, 3, 3, 3, deviation=(2 / 27) ** 0.5),
            self.drawn(first),
            self.drawn(CLASSES, last, deviation=last**-0.5),
            self.drawn(CLASSES, deviation=0.01),
        )


def widened(channels, width):
    """A multiple of 8."""
    return max(8, round(channels * width / 8) * 8)


def made(width, blocks, sparsity, device):
    """A network of this width, its 1x1 convolutions with this share of zeros."""
    seeded = Seeded(device)
    channels, built = widened(FIRST, width), []
    for stride, outputs in BLOCKS[:blocks]:
        outputs = widened(outputs, width)
        built.append(
            Block(
                stride,
                seeded.drawn(channels, 1, 3, 3, deviation=(2 / 9) ** 0.5),
                seeded.drawn(channels),
                seeded.pointwise(outputs, channels, sparsity),
                seeded.drawn(outputs),
            )
        )
        channels = outputs
    first, first_bias, classifier, classifier_bias = seeded.ends(widened(FIRST, width), channels)
    return Network(first, first_bias, tuple(built), classifier, classifier_bias)


def trained(folder, blocks, device):
    """Of files as the collection has them, and which parts are missing there, and made."""
    seeded = Seeded(device)

    def read(name):
        return torch.from_numpy(np.load(Path(folder) / f"{name}.npy")).to(device)

    channels, built, missing = FIRST, [], ["first layer", "classifier"]
    for index, (stride, outputs) in enumerate(BLOCKS[:blocks]):
        name = f"contraction_1x1_{index}"
        if (Path(folder) / f"{name}.npy").exists():
            weight = read(name)[:, :, None, None]
        else:
            weight = seeded.pointwise(outputs, channels, 0.9)
            missing.append(name)
        filters = f"depthwise_nxn_{index}"
        built.append(Block(stride, read(filters), read(f"{filters}_bias"), weight, read(f"{name}_bias")))
        channels = outputs
    first, first_bias, classifier, classifier_bias = seeded.ends(FIRST, channels)
    return Network(first, first_bias, tuple(built), classifier, classifier_bias), missing
