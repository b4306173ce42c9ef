"""Matrices, references in float64, and calls of plans on poisoned memory."""

import numpy as np
import pytest

import vostok

TYPES = {"f32": np.float32, "f16": np.float16}
TOLERANCES = {"f32": 2e-6, "f16": 2e-3, "bf16": 1.6e-2}  # of ||y - r|| / ||r||


def sparse(rng, rows, cols, density=0.3, element="f32", batch=()):
    """(values, dense in float64, row_offsets, column_indices) with an empty row where there are two."""
    mask = rng.random((rows, cols)) < density
    if rows > 1:
        mask[rng.integers(rows)] = False
    offsets = np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int32)
    columns = np.nonzero(mask)[1].astype(np.int32)
    values = numbers(rng, (*batch, columns.size), element)
    dense = np.zeros((*batch, rows, cols))
    dense[..., mask] = wide(values, element)
    return values, dense, offsets, columns


def numbers(rng, shape, element="f32"):
    """Normal numbers of an element type; bf16 as its bits."""
    drawn = rng.standard_normal(shape).astype(np.float32)
    return to_bf16(drawn) if element == "bf16" else drawn.astype(TYPES[element])


def to_bf16(array):
    """The bits of the nearest bf16 numbers, ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def wide(array, element=None):
    """As float64."""
    array = np.asarray(array)
    if element == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def poisoned(shape, element="f32"):
    """Memory of NaN."""
    if element == "bf16":
        return np.full(shape, 0x7FC1, np.uint16)
    return np.full(shape, np.nan, TYPES[element])


def error(found, reference, element=None):
    """||y - r|| / ||r||, and ||y|| where r is zero."""
    difference = np.linalg.norm(np.ravel(wide(found, element) - reference))
    size = np.linalg.norm(np.ravel(reference))
    return difference / size if size else difference


def assert_close(found, reference, element="f32", factor=1):
    assert found.shape == reference.shape
    assert np.isfinite(wide(found, element)).all()
    assert error(found, reference, element) <= factor * TOLERANCES[element]


def execute(plan, **operands):
    """Executes with arrays in place of addresses, and a workspace of NaN. On a GPU they are copied in and out."""
    context = plan.context
    copies = {}
    for name, given in operands.items():
        if isinstance(given, np.ndarray):
            copies[name] = context.array(given) if context.device.gpu else given
    workspace = context.array(np.full(plan.workspace_bytes, 0xFF, np.uint8))
    addresses = {name: copy.address if context.device.gpu else copy.ctypes.data for name, copy in copies.items()}
    plan.execute(1, workspace=workspace.address, **{**operands, **addresses})
    for name, copy in copies.items():
        if context.device.gpu:
            copy.stream = 1
            operands[name][...] = copy.numpy()


def needs_host_memory(context):
    """For tests that show memory of the process as that of the device."""
    if context.device.gpu and context.device.architecture != "emulator":
        pytest.skip("a GPU does not read the memory of the process")


class OnDevice:
    """An array in "device memory" as other libraries show theirs: __cuda_array_interface__ and nothing else."""

    def __init__(self, array, stream=None, read_only=False, **changes):
        self.array = array
        self.interface = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, read_only),
            "strides": None if array.flags.c_contiguous else array.strides,
            "version": 3,
            "stream": stream,
            **changes,
        }

    @property
    def __cuda_array_interface__(self):
        return self.interface


def softmax(dense, mask, scale=1.0):
    """Over the rows of a dense float64 array, where the mask has elements; elsewhere zeros."""
    scaled = np.where(mask, dense * scale, -np.inf)
    most = scaled.max(axis=-1, keepdims=True)
    powers = np.exp(scaled - np.where(np.isfinite(most), most, 0))
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)


def csr(context, parts, element=None):
    """A matrix of what sparse() made."""
    values, dense, offsets, columns = parts
    topology = context.topology(offsets, columns, dense.shape[-2:])
    return vostok.Csr(topology, values, element=element)
