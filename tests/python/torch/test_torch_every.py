"""What holds for every function: element types, index types, addresses, strides, transforms, autocast and defaults."""

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from cases import FUNCTIONS, OPS, every_function, matrix
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import vostok
import vostok.torch as vt


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_gradients_in_16_bits(device, name, dtype):
    every_function(device, dtype)[name].check()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_gradients_with_indices_of_64_bits(device, name):
    every_function(device, index_dtype=torch.int64)[name].check()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operands_may_lie_at_any_address_of_an_element(device, name):
    case = every_function(device)[name]
    shifted = [torch.cat([each.new_zeros(1), each.flatten()])[1:].view(each.shape) for each in case.tensors]
    assert all(each.data_ptr() % 16 == 4 for each in shifted)
    case.check(shifted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operands_may_have_gaps(device, name):
    case = every_function(device)[name]
    gaps = [torch.stack([each, each.new_full(each.shape, 7)], -1)[..., 0] for each in case.tensors]
    assert not any(each.is_contiguous() for each in gaps)
    case.check(gaps)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_transforms_of_torch_func_are_refused_by_name(device, name):
    case = every_function(device)[name]
    f, tensors = case.call, case.tensors
    places = tuple(range(len(tensors)))
    for transform in (
        lambda: torch.func.vmap(f)(*(torch.stack([each, each]) for each in tensors)),
        lambda: torch.func.grad(lambda *given: f(*given).sum(), places)(*tensors),
        lambda: torch.func.jvp(f, tensors, tensors),
        lambda: torch.func.vjp(f, *tensors),
    ):
        with pytest.raises(RuntimeError, match=f"cannot transform vostok::{name} by torch.func"):
            transform()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_mode_is_refused_by_name_whichever_operand_has_a_tangent(device, name):
    case = every_function(device)[name]
    for place, tensor in enumerate(case.tensors):
        with forward_ad.dual_level(), torch.no_grad():
            given = list(case.tensors)
            given[place] = forward_ad.make_dual(tensor, tensor)
            with pytest.raises(RuntimeError, match=f"cannot differentiate vostok::{name} in forward mode"):
                case.call(*given)


class Passing(TorchDispatchMode):
    """Passes every call on as it comes from above: the dispatcher has taken away what is as the schema has it."""

    def __init__(self):
        super().__init__()
        self.fewest = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "vostok":
            name = func._schema.name.split("::")[1]
            self.fewest[name] = min(self.fewest.get(name, 99), len(args))
        return func(*args, **(kwargs or {}))


DEFAULTS = sorted((*FUNCTIONS, "attention_backward", "pack", "softmax_backward"))


def defaults(device):
    """Calls in which all that has a default is left to it."""
    attention = every_function(device)["attention"]
    a, _ = matrix(6, 9, device=device)
    structure = (a.row_offsets, a.column_indices, 6, 9)
    shapes = ((3, 9), (9, 4), (6, 4), (9, 4))
    x, b, lhs, rhs = (torch.randn(shape, device=device, requires_grad=True) for shape in shapes)
    values = a.values.clone().requires_grad_()
    packed = vt.SparseLinear(a).freeze(2)
    return {
        "linear": lambda: OPS.linear(x, values, *structure),
        "spmm": lambda: OPS.spmm(values, *structure, b),
        "sddmm": lambda: OPS.sddmm(*structure, lhs, rhs),
        "softmax": lambda: OPS.softmax(values, *structure),
        "softmax_backward": lambda: OPS.softmax_backward(values.detach(), values.detach(), *structure),
        "attention": lambda: OPS.attention(lhs, rhs, rhs, *structure[:2], 0.5)[0],
        "attention_backward": lambda: attention.call(*(each.requires_grad_() for each in attention.tensors)),
        "linear_packed": lambda: packed(x.detach()),
        "pack": lambda: vt.SparseLinear(a).freeze(2)(x.detach()),
    }


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_of_the_schema_reach_kernels_fakes_and_gradients(device, name):
    """The dispatcher drops arguments that are as the schema has them: every signature repeats the defaults."""
    call = defaults(device)[name]
    expected = call()
    with Passing() as seen:
        found = call()
        if found.requires_grad:
            found.sum().backward()
        with torch.no_grad():
            assert torch.equal(call(), expected)
    assert torch.equal(found, expected)
    if name != "pack":  # how many bytes there will be, no fake knows
        with FakeTensorMode(allow_non_fake_inputs=True):
            assert call().shape == expected.shape
    arguments = getattr(OPS, name).default._schema.arguments
    assert seen.fewest[name] == sum(not argument.has_default_value() for argument in arguments)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "softmax"])
def test_autocast_converts_all_but_the_bias(device, name):
    case = every_function(device, torch.bfloat16)[name]
    wide = [tensor.float() + 2**-12 for tensor in case.tensors]
    kept = {"linear": 2, "spmm": 2}.get(name)
    with torch.no_grad(), torch.autocast(device, torch.bfloat16):
        found = case.call(*wide)
    with torch.no_grad():
        expected = case.call(*(each if place == kept else each.bfloat16() for place, each in enumerate(wide)))
    assert found.dtype == torch.bfloat16 and torch.equal(found, expected)


def test_softmax_keeps_its_type_under_autocast(device):
    case = every_function(device)["softmax"]
    with torch.autocast(device, torch.bfloat16):
        assert case.call(*case.tensors).dtype == torch.float32


def bad_calls():
    """(operator, place of an operand, what is given there, type, text)"""
    half, double = (lambda tensor: tensor.half()), (lambda tensor: tensor.double())
    shorter = lambda tensor: tensor[..., :-1]  # noqa: E731
    fewer = lambda tensor: tensor[:1]  # noqa: E731
    meta = lambda tensor: tensor.to("meta")  # noqa: E731
    return [
        ("linear", 1, meta, TypeError, "x is on cpu, and values is on meta"),
        ("spmm", 0, half, TypeError, "dense has dtype torch.float32, and values has torch.float16"),
        ("spmm", 0, shorter, ValueError, "values has .* elements, and column_indices has"),
        ("spmm", 1, lambda tensor: tensor[:, :-1], ValueError, r"dense has shape .*, and axis -2 must have cols = 12"),
        ("spmm", 2, shorter, ValueError, r"bias has shape \(7,\), and must have \(8,\)"),
        ("spmm", 3, fewer, ValueError, r"residual has shape \(1, 8, 5\), and must have \(2, 8, 5\)"),
        ("sddmm", 0, lambda tensor: tensor[:, :-1], ValueError, "lhs has shape .*, and axis -2 must have rows = 8"),
        ("sddmm", 1, shorter, ValueError, r"rhs has shape .*, and axis -1 must have lhs.shape\[-1\] = 5"),
        ("sddmm", 1, fewer, ValueError, "rhs has shape .*, and its leading axes must be those of lhs"),
        ("sddmm", 2, half, TypeError, "multiplier has dtype torch.float16, and lhs has torch.float32"),
        ("softmax", 0, double, TypeError, "values has dtype torch.float64, and may have"),
        ("softmax", 0, shorter, ValueError, "values has .* elements, and column_indices has"),
        ("attention", 1, half, TypeError, "q has dtype torch.float32, and k has torch.float16"),
        ("attention", 0, shorter, ValueError, r"k has shape .*, and axis -1 must have q.shape\[-1\] = 3"),
        ("attention", 2, fewer, ValueError, "v has shape .*, and its leading axes must be those of k"),
        ("linear_packed", 0, double, TypeError, "x has dtype torch.float64, and may have"),
        ("linear_packed", 0, shorter, ValueError, "x has shape .*, and axis -1 must have cols = 12"),
    ]


@pytest.mark.parametrize("op, place, change, kind, text", bad_calls())
def test_errors_have_a_type_and_the_same_text_eager_and_compiled(op, place, change, kind, text):
    case = every_function()[op]
    given = [change(tensor) if i == place else tensor for i, tensor in enumerate(case.tensors)]
    text = f"cannot run vostok::{op}: {text}"
    with torch.no_grad():
        with pytest.raises(kind, match=text) as eager:
            case.call(*given)
        assert isinstance(eager.value, vostok.VostokError)
        torch._dynamo.reset()
        with pytest.raises(Exception, match=text) as compiled:
            torch.compile(case.call, backend="aot_eager", fullgraph=True, dynamic=False)(*given)
        assert str(eager.value) in str(compiled.value)
