"""What SparseLinear loads: state dictionaries with another mask, with dense weights, and with those of prune."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import InvalidArgument
from ._csr import Csr, as_static, csr, row_indices

FORMATS = (("packed", "head"), ("packed_few", "head_few"))  # of a frozen layer: for all tokens, and for few
HEADS = tuple(head for _, head in FORMATS)


def set_structure(layer: Any, row_offsets: torch.Tensor, column_indices: torch.Tensor) -> None:
    """New index buffers. They are never written in place: tensors name their structure."""
    layer.register_buffer("row_offsets", as_static(row_offsets))
    layer.register_buffer("column_indices", as_static(column_indices))


def set_values(layer: Any, values: torch.Tensor) -> None:
    """New values in the same Parameter, whatever their number."""
    parameter = layer.values
    values = values.detach().to(parameter.device, parameter.dtype)
    if values.shape == parameter.shape:
        parameter.data.copy_(values)
        return
    parameter.grad = None
    parameter.data = values.clone()


def places_before(old: Csr, offsets: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """For each nonzero of a new structure where it is among those of the old one, else -1; int64."""
    new = Csr(columns, offsets, columns, old.shape)
    if columns.shape[0] and int(columns.max()) >= old.shape[1]:
        raise InvalidArgument(
            f"cannot set the mask: column_indices go to {int(columns.max())} of {old.shape[1]} columns"
        )
    if offsets.shape[0] != old.shape[0] + 1 or int(offsets[-1]) != columns.shape[0]:
        raise InvalidArgument(
            f"cannot set the mask: row_offsets have {offsets.shape[0]} elements of {old.shape[0] + 1}, and end with "
            f"{int(offsets[-1]) if offsets.numel() else None} of {columns.shape[0]} nonzeros"
        )
    before, order = (row_indices(old) * old.shape[1] + old.column_indices).sort(stable=True)
    now = row_indices(new) * old.shape[1] + columns
    if not before.numel():
        return torch.full_like(now, -1)
    found = torch.searchsorted(before, now).clamp(max=before.numel() - 1)
    return torch.where(before[found] == now, order[found], -1)


def _dense_weight(state: dict[str, Any], prefix: str) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """The dense weight in a state dictionary and its mask, which are taken out of it."""
    if prefix + "weight_orig" in state and prefix + "weight_mask" in state:
        return state.pop(prefix + "weight_orig"), state.pop(prefix + "weight_mask")
    return state.pop(prefix + "weight", None), None


def before_load(
    layer: Any,
    state: dict[str, Any],
    prefix: str,
    metadata: Any,
    strict: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    """Turns dense weights into values and indices, and makes room for as many nonzeros as come."""
    weight, mask = _dense_weight(state, prefix)
    if weight is not None:
        shape = (layer.out_features, layer.in_features)
        if tuple(weight.shape) != shape:
            errors.append(f"{prefix}weight has shape {tuple(weight.shape)}, and the layer has {shape}")
            return
        a = csr(weight.detach(), mask=mask)
        state[prefix + "values"] = a.values
        state[prefix + "row_offsets"] = a.row_offsets
        state[prefix + "column_indices"] = a.column_indices
    offsets, columns = state.get(prefix + "row_offsets"), state.get(prefix + "column_indices")
    if offsets is None or columns is None:
        return
    if offsets.shape[0] != layer.out_features + 1:
        errors.append(f"{prefix}row_offsets has {offsets.shape[0]} elements, and must have {layer.out_features} + 1")
        return
    device = layer.row_offsets.device
    # New tensors, also where sizes are equal: what is copied into is another structure under the same name.
    set_structure(layer, torch.empty_like(offsets, device=device), torch.empty_like(columns, device=device))
    values = state.get(prefix + "values")
    if values is not None and values.shape != layer.values.shape:
        set_values(layer, torch.empty_like(values, device=device))


def before_packed_load(
    layer: Any,
    state: dict[str, Any],
    prefix: str,
    metadata: Any,
    strict: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    """Makes room for as many packed bytes as come, in new tensors. A second format comes and goes with the first one:
    what stayed would be of other weights."""
    found = {name: state[prefix + name] for pair in FORMATS for name in pair if prefix + name in state}
    for name, tensor in found.items():
        device = (layer.head if name in HEADS else layer.packed).device
        layer.register_buffer(name, as_static(torch.empty_like(tensor, device=device)))
    second = [name for name in FORMATS[1] if name in found]
    for name in FORMATS[1]:
        if found and not second:
            layer.register_buffer(name, None)
        elif second and layer._buffers[name] is None:  # torch takes this for a buffer that is not stored
            missing.append(prefix + name)


def after_load(layer: Any, keys: Any) -> None:
    """Marks what was loaded, which assign=True puts in the buffers' places, as static."""
    for name in ("row_offsets", "column_indices", *FORMATS[0], *FORMATS[1]):
        if layer._buffers.get(name) is not None:
            as_static(layer._buffers[name])
