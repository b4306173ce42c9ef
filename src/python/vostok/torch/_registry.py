"""How an operation gets into torch's dispatcher: its schema, kernels, fake kernel, autocast rule and gradient."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch.autograd import forward_ad

LIBRARY = torch.library.Library("vostok", "DEF")

_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
_modes: Callable[[], int] = torch._C._len_torch_dispatch_stack
_grad_enabled: Callable[[], bool] = torch.is_grad_enabled
_transforms: Callable[[], Any] = torch._C._functorch.peek_interpreter_stack


def is_plain(*tensors: Any) -> bool:
    """Whether nothing listens: no mode, no tensor subclass, so that a kernel may be called without the dispatcher."""
    if _modes():
        return False
    for tensor in tensors:  # a loop, since all() of a generator takes twice as long
        if type(tensor) not in _PLAIN:
            return False
    return True


_function_modes: Callable[[], int] = torch._C._len_torch_function_stack
_autocasts: Callable[[], bool] = torch._C._is_any_autocast_enabled
_profiles: Callable[[], bool] = torch._C._autograd._profiler_enabled
_traces: Callable[[], Any] = torch._C._get_tracing_state


def wants_gradient(*tensors: Any) -> bool:
    """Whether autograd must see the call."""
    if not _grad_enabled():
        return False
    for tensor in tensors:
        if tensor is not None and tensor.requires_grad:
            return True
    return False


def refuse_transforms(op: str, tensors: tuple[Any, ...]) -> None:
    """torch.func's transforms and forward-mode derivatives have no rule here, and must not be lost silently."""
    interpreter = _transforms()
    if interpreter is not None and interpreter.key() != torch._C._functorch.TransformType.Functionalize:
        raise RuntimeError(
            f"cannot transform vostok::{op} by torch.func ({interpreter.key().name}): it has no rule for vmap, grad, "
            "vjp, jvp and what is made of them; use autograd (backward, torch.autograd.grad) outside of torch.func"
        )
    if forward_ad._current_level >= 0:
        unpack = forward_ad.unpack_dual
        if any(tensor is not None and unpack(tensor).tangent is not None for tensor in tensors):
            raise RuntimeError(
                f"cannot differentiate vostok::{op} in forward mode: it has gradients for backward mode only"
            )


def transforms_active() -> bool:
    """Whether refuse_transforms has something to look at."""
    return _transforms() is not None or forward_ad._current_level >= 0


def is_unobserved(x: torch.Tensor, values: torch.Tensor, bias: torch.Tensor | None) -> bool:
    """Whether an operator's kernel may be called in place of the operator: no gradient, and nothing that would see or
    change the call in torch's dispatcher, which costs a call two microseconds. Not to be asked while compiling."""
    return not (
        wants_gradient(x, values, bias)
        or not is_plain(x, values)
        or transforms_active()
        or _function_modes()
        or _autocasts()
        or _profiles()
        or _traces() is not None
    )


def below_autograd(op: Any, arguments: tuple[Any, ...]) -> Any:
    """Calls the operation's kernel, through the modes and subclasses that are active."""
    with torch._C._AutoDispatchBelowAutograd():
        return op(*arguments)


def register(
    name: str,
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    differentiable: Callable[..., Any],
    cast: Callable[[tuple[Any, ...], torch.dtype], tuple[Any, ...]] | None = None,
) -> Any:
    """Puts vostok::`name` into the dispatcher and returns its overload.

    kernel: for real tensors of both devices. fake: shapes and checks. differentiable: called above autograd.
    cast: the operands under autocast. Defaults of the schema are repeated in all of them: the dispatcher drops
    arguments that have them.
    """
    LIBRARY.define(f"{name}{schema}")
    overload = getattr(torch.ops.vostok, name).default
    for key in ("CPU", "CUDA"):
        LIBRARY.impl(name, kernel, key)
        LIBRARY.impl(name, differentiable, f"Autograd{key}")
    LIBRARY.impl(name, differentiable, "AutogradMeta")
    torch.library.register_fake(f"vostok::{name}", fake, lib=LIBRARY)
    LIBRARY.impl(name, _refusing(name), "FuncTorchBatched")
    if cast is not None:
        for device in ("CPU", "CUDA"):
            LIBRARY.impl(name, _autocasting(overload, cast, device), f"Autocast{device}")
    return overload


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*arguments: Any) -> Any:
        refuse_transforms(name, arguments)
        raise RuntimeError(f"cannot transform vostok::{name} by torch.func")

    return refuse


def _autocasting(overload: Any, cast: Callable[..., Any], device: str) -> Callable[..., Any]:
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, f"Autocast{device}"))
    kind = device.lower()

    def autocasting(*arguments: Any) -> Any:
        dtype = torch.get_autocast_dtype(kind)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return overload(*cast(arguments, dtype))

    return autocasting


def cast_to(tensor: Any, dtype: torch.dtype) -> Any:
    """A floating tensor in another type; float64 stays, to be refused by name."""
    if tensor is None or tensor.dtype == dtype or tensor.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return tensor
    return tensor.to(dtype)


def casting(*places: int) -> Callable[[tuple[Any, ...], torch.dtype], tuple[Any, ...]]:
    """The autocast rule that converts the operands at these places."""

    def cast(arguments: tuple[Any, ...], dtype: torch.dtype) -> tuple[Any, ...]:
        return tuple(cast_to(value, dtype) if i in places else value for i, value in enumerate(arguments))

    return cast
