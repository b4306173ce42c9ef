"""The dispatcher's rules, derivatives, autocast, and the transforms that are refused."""

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from cases import assert_close, matrix

import vostok.torch as vt

OPS = torch.ops.vostok
CHECK = {"eps": 1e-2, "atol": 2e-2, "rtol": 2e-2, "nondet_tol": 0.0}


def operands(device, *shapes):
    return [torch.randn(shape, device=device, requires_grad=True) for shape in shapes]


def calls(device):
    a, _ = matrix(6, 9, density=0.5, device=device)
    structure = (a.row_offsets, a.column_indices, 6, 9)
    size = a.values.shape[0]
    values, probabilities, gradient, multiplier = operands(device, size, size, size, size)
    x, bias, residual, dense = operands(device, (3, 9), 6, (3, 6), (2, 9, 4))
    lhs, rhs, q, k, v = operands(device, (2, 6, 4), (2, 9, 4), (2, 6, 4), (2, 9, 4), (2, 9, 5))
    statistics = torch.randn(2, 6, device=device)
    dy = torch.randn(2, 6, 5, device=device)
    packed, head = OPS.pack(values.detach(), *structure, 2)
    square = matrix(6, 6, density=0.5, device=device)[0][1:3]
    return {
        "linear": (OPS.linear, (x, values, *structure, bias, residual), {"activation": "gelu"}),
        "spmm": (OPS.spmm, (values, *structure, dense, bias), {"scale": 0.5}),
        "sddmm": (OPS.sddmm, (*structure, lhs, rhs, 0.5, multiplier), {}),
        "softmax": (OPS.softmax, (values, *structure, 0.7), {}),
        "softmax_backward": (OPS.softmax_backward, (probabilities.detach(), gradient.detach(), *structure, 0.7), {}),
        "attention": (OPS.attention, (q, k, v, *structure[:2], 0.5), {}),
        "attention of heads side by side": (
            OPS.attention,
            (*(part.transpose(0, 1) for part in torch.randn(6, 2, 12, device=device).split(4, -1)), *square, 0.5),
            {"math": "strict"},
        ),
        "attention_backward": (
            OPS.attention_backward,
            (dy, q.detach(), k.detach(), v.detach(), torch.randn_like(dy), statistics, *structure[:2], 0.5),
            {},
        ),
        "linear_packed": (OPS.linear_packed, (x.detach(), packed, head, 6, 9, bias), {}),
    }


@pytest.mark.parametrize("name", list(calls("cpu")))
def test_opcheck_finds_nothing(device, name):
    op, arguments, options = calls(device)[name]
    result = torch.library.opcheck(op.default, arguments, options)
    assert set(result.values()) == {"SUCCESS"}, result


def test_opcheck_of_pack_finds_nothing(device):
    a, _ = matrix(6, 9, device=device)
    arguments = (a.values, a.row_offsets, a.column_indices, 6, 9, 2)
    torch.library.opcheck(OPS.pack.default, arguments, test_utils=("test_schema", "test_autograd_registration"))


def gradient_cases(device):
    a, _ = matrix(5, 7, density=0.5, device=device)
    x, values, bias, dense = operands(device, (3, 7), a.values.shape[0], 5, (2, 7, 3))
    lhs, rhs, multiplier = operands(device, (2, 5, 3), (2, 7, 3), a.values.shape[0])
    return {
        "linear": (lambda x, v, b: vt.linear(x, a.with_values(v), b, activation="gelu"), (x, values, bias)),
        "spmm": (lambda v, d: vt.spmm(a.with_values(v), d, scale=0.5), (values, dense)),
        "sddmm": (lambda lh, rh, m: vt.sddmm(a, lh, rh, scale=0.5, multiplier=m), (lhs, rhs, multiplier)),
    }


@pytest.mark.filterwarnings("ignore:Input #")
@pytest.mark.parametrize("name", list(gradient_cases("cpu")))
def test_first_and_second_derivatives_are_those_of_differences(device, name):
    function, arguments = gradient_cases(device)[name]
    assert torch.autograd.gradcheck(function, arguments, **CHECK)
    assert torch.autograd.gradgradcheck(function, arguments, **{**CHECK, "atol": 4e-2, "rtol": 4e-2})


def test_second_derivatives_that_are_not_there_are_refused_by_name(device):
    a, _ = matrix(6, 6, device=device)
    values = a.values.clone().requires_grad_()
    (first,) = torch.autograd.grad(vt.softmax(a.with_values(values)).values.square().sum(), values, create_graph=True)
    with pytest.raises(RuntimeError, match="cannot differentiate vostok::softmax_backward"):
        first.sum().backward()
    q = torch.randn(2, 6, 4, device=device, requires_grad=True)
    (first,) = torch.autograd.grad(vt.attention(q, q, q, a).square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="cannot differentiate vostok::attention_backward"):
        first.sum().backward()


def test_torch_func_is_refused_by_name(device):
    a, _ = matrix(6, 9, device=device)
    x = torch.randn(3, 9, device=device)
    f = lambda x: vt.linear(x, a)  # noqa: E731
    for transform in (
        lambda: torch.func.vmap(f)(x[:, None]),
        lambda: torch.func.grad(lambda x: f(x).sum())(x),
        lambda: torch.func.jvp(f, (x,), (x,)),
        lambda: torch.func.jacrev(f)(x),
    ):
        with pytest.raises(RuntimeError, match="cannot transform vostok::linear by torch.func"):
            transform()


def test_forward_mode_is_refused_with_and_without_grad(device):
    a, _ = matrix(6, 9, device=device)
    x = torch.randn(3, 9, device=device)
    for mode in (torch.no_grad(), torch.enable_grad()):
        with forward_ad.dual_level(), mode:
            with pytest.raises(RuntimeError, match="cannot differentiate vostok::linear in forward mode"):
                vt.linear(forward_ad.make_dual(x, x), a)


def test_autocast_converts_x_and_values_and_leaves_the_bias(device):
    a, dense = matrix(6, 9, device=device)
    dense = dense.clone()
    dense[:, 0] = -256
    a = vt.csr(dense)
    x, values = torch.randn(3, 9, device=device).mul_(2**-9).index_fill_(1, torch.tensor(0, device=device), 1), a.values
    bias = torch.full((6,), 256.75, device=device)  # 256 in bfloat16: what is left of it would be 0
    x, values, bias = (tensor.requires_grad_() for tensor in (x, values, bias))
    with torch.autocast(device, torch.bfloat16):
        y = vt.linear(x, a.with_values(values), bias)
        z = vt.spmm(a.with_values(values), x.mT.contiguous())
        s = vt.sddmm(a, torch.randn(6, 4, device=device), torch.randn(9, 4, device=device))
    assert {y.dtype, z.dtype, s.dtype} == {torch.bfloat16}
    y.float().sum().backward()
    assert {t.grad.dtype for t in (x, values, bias)} == {torch.float32}
    assert_close(y, x.bfloat16().double() @ dense.bfloat16().double().mT + 256.75, scale=1)


def test_frozen_values_have_no_gradient_and_inputs_none_where_not_asked(device):
    a, _ = matrix(6, 9, device=device)
    x = torch.randn(3, 9, device=device)
    bias = torch.randn(6, device=device, requires_grad=True)
    vt.linear(x, a, bias).sum().backward()
    assert torch.equal(bias.grad, torch.full((6,), 3.0, device=device))
    packed, head = OPS.pack(a.values, a.row_offsets, a.column_indices, 6, 9, 4)
    with pytest.raises(RuntimeError, match="packed weights are for inference"):
        OPS.linear_packed(x.requires_grad_(), packed, head, 6, 9)


def test_activation_checkpointing_gives_the_same_gradients(device):
    a, _ = matrix(9, 9, device=device)
    values = a.values.clone().requires_grad_()
    f = lambda x: torch.nn.functional.gelu(vt.linear(x, a.with_values(values)))  # noqa: E731
    x = torch.randn(3, 9, device=device, requires_grad=True)
    f(f(x)).sum().backward()
    plain, values.grad, x.grad = (values.grad, x.grad), None, None
    torch.utils.checkpoint.checkpoint(lambda x: f(f(x)), x, use_reentrant=False).sum().backward()
    assert torch.equal(values.grad, plain[0]) and torch.equal(x.grad, plain[1])
