"""save_packed and load_packed: a model with frozen layers in one safetensors file."""

from __future__ import annotations

import json
import os
from typing import Any

import torch
from torch import nn

from .. import _c
from .._errors import InvalidType, IoFailure
from ._modules import FrozenSparseLinear
from ._state import FORMATS, HEADS

FORMAT = "vostok.torch.packed"
FORMAT_VERSION = 3


def save_packed(model: nn.Module, path: str | os.PathLike[str]) -> None:
    """Writes the model's state, with its frozen layers' packed bytes, into a safetensors file that is there whole or
    not at all. Tensors that share memory (tied weights) are written once. Needs the package safetensors.

    Names are those of state_dict. A frozen layer has, uint8 [bytes], `<layer>.packed` and `<layer>.head`, and, where it
    was frozen with few_tokens, `<layer>.packed_few` and `<layer>.head_few`.
    """
    from safetensors.torch import save_file

    layers = {
        name: {"out": layer.out_features, "in": layer.in_features, "activation": layer.activation}
        for name, layer in model.named_modules()
        if isinstance(layer, FrozenSparseLinear)
    }
    tensors: dict[str, torch.Tensor] = {}
    same: dict[str, str] = {}
    seen: dict[Any, str] = {}
    for name, tensor in model.state_dict().items():
        key = (tensor.untyped_storage()._cdata, tensor.storage_offset(), tensor.shape, tensor.stride())
        if key in seen and tensor.numel():
            same[name] = seen[key]
        else:
            seen[key] = name
            tensors[name] = tensor.detach().contiguous()
    about = {"format": FORMAT, "version": FORMAT_VERSION, "vostok": _c.version(), "layers": layers, "same": same}
    target = os.path.realpath(os.fspath(path))
    partial = f"{target}.{os.getpid()}.partial"
    try:
        save_file(tensors, partial, metadata={"vostok": json.dumps(about)})
        os.replace(partial, target)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def load_packed(model: nn.Module, path: str | os.PathLike[str], *, strict: bool = True) -> nn.Module:
    """Reads what save_packed wrote into a model of the same architecture, whose linear layers become frozen ones where
    those of the file are; on the layers' devices. Returns the model. Errors: IoFailure for files that are none of ours;
    RuntimeError for keys that do not match, as load_state_dict has it."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), "pt") as file:
            about = json.loads((file.metadata() or {}).get("vostok", "{}"))
            if about.get("format") != FORMAT or about.get("version") != FORMAT_VERSION:
                raise IoFailure(f"cannot load {os.fspath(path)}: save_packed did not write it, or in another version")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, json.JSONDecodeError) as error:
        if isinstance(error, IoFailure):
            raise
        raise IoFailure(f"cannot load {os.fspath(path)}: {error}") from error
    tensors.update({name: tensors[source] for name, source in about["same"].items()})
    modules = dict(model.named_modules())
    missing = [name for name in about["layers"] if name not in modules]
    if missing:
        raise InvalidType(f"cannot load {os.fspath(path)}: the model has no layer {missing[0]!r}")
    for name, sizes in about["layers"].items():
        _freeze_in_place(model, modules, name, sizes, tensors)
    model.load_state_dict(tensors, strict=strict)
    return model


def _freeze_in_place(
    model: nn.Module, modules: dict[str, nn.Module], name: str, sizes: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> None:
    if isinstance(modules[name], FrozenSparseLinear):
        return
    path, _, last = name.rpartition(".")
    first = next(iter(modules[name].parameters()), None)
    device = "cpu" if first is None else first.device
    given: dict[str, Any] = {}
    for key in ("bias", *FORMATS[0], *FORMATS[1]):
        tensor = tensors.get(f"{name}.{key}")
        given[key] = tensor if tensor is None or key in HEADS else tensor.to(device)
    if given["packed"] is None or given["head"] is None:
        raise IoFailure(f"cannot load packed weights: the file has no packed bytes of layer {name!r}")
    frozen = FrozenSparseLinear(
        out_features=sizes["out"], in_features=sizes["in"], activation=sizes["activation"], **given
    )
    setattr(modules[path] if path else model, last, frozen.train(modules[name].training))
