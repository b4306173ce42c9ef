"""Traps that a binding falls into unseen: copies, whose memory is kept, alignment, forks, and what calls cost."""

import ast
import dataclasses
import gc
import re
from pathlib import Path

import pytest
import torch
from cases import FUNCTIONS, assert_close, every_function, layer, matrix

import vostok
import vostok.torch as vt
from vostok.torch import _devices, _lookup

PACKAGE = Path(vt.__file__).parent


def operators_called(call):
    """The names of torch's operators that run, those inside of others too."""
    with torch.autograd.profiler.profile() as profile:
        call()
    return {event.name for event in profile.function_events}


def test_a_linear_layer_and_its_gradients_copy_and_transpose_nothing(device):
    sparse, _ = layer(16, 24, device=device)
    x, gradient = torch.randn(4, 24, device=device, requires_grad=True), torch.randn(4, 16, device=device)

    def step():
        sparse(x).backward(gradient)

    step()
    x.grad = None
    sparse.zero_grad()
    called = operators_called(step)
    copies = ("aten::clone", "aten::copy_", "aten::contiguous", "aten::_to_copy", "aten::transpose_copy")
    assert "aten::clone" in operators_called(lambda: x.mT.contiguous())  # that is how copies show
    assert not called & set(copies), called & set(copies)


def tensors_alive():
    gc.collect()
    return {id(each): each.shape for each in gc.get_objects() if issubclass(type(each), torch.Tensor)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_outlives_a_call_is_not_torchs_memory(device, name):
    """A warm-up of CUDA-graph trees must leave nothing in torch's pools but what it returns."""
    vt.clear()
    case = every_function(device)[name]
    tensors = [each.detach().requires_grad_(case.differentiable) for each in case.tensors]
    before = tensors_alive()
    held = torch.cuda.memory_allocated() if device == "cuda" else 0
    result = case.call(*tensors)
    if case.differentiable:
        torch.autograd.grad(result.sum(), tensors)
    del result
    left = {shape for each, shape in tensors_alive().items() if each not in before}
    assert not left, left
    assert held == (torch.cuda.memory_allocated() if device == "cuda" else 0)


@pytest.mark.parametrize("offset", [0, 4, 64, 100])
def test_workspaces_are_aligned_wherever_torch_allocates(device, monkeypatch, offset):
    """torch's CPU allocator aligns to 64 bytes, and the library wants 256."""
    a, dense = matrix(40, 56, device=device)
    x = torch.randn(64, 56, device=device)
    vt.clear()
    vt.linear(x, a)
    (entry,) = _lookup.LOOKUP.entries.values()
    assert any(plan.workspace_bytes for plan in entry.plans.values())
    monkeypatch.setattr(_devices, "_SHARED_BYTES", 0)  # as on any stream but the default one
    empty, sizes = torch.empty, []

    def shifted(size, **options):
        sizes.append(size)
        return empty(size + offset, **options)[offset:]

    monkeypatch.setattr(torch, "empty", shifted)
    y = vt.linear(x, a)
    assert sizes
    monkeypatch.undo()
    assert_close(y, x.double() @ dense.double().mT)


class Products(torch.utils.data.Dataset):
    def __init__(self):
        self.a, self.dense = matrix(8, 12)

    def __len__(self):
        return 4

    def __getitem__(self, place):
        x = torch.full((2, 12), float(place + 1))
        return vt.linear(x, self.a), x @ self.dense.mT


def test_workers_of_a_data_loader_which_are_forked_compute():
    data = Products()
    data[0]
    loader = torch.utils.data.DataLoader(data, num_workers=2, multiprocessing_context="fork", timeout=300)
    pairs = list(loader)
    assert len(pairs) == 4
    for found, expected in pairs:
        assert_close(found, expected.double())


class Failing:
    """A method of Context that fails once with out_of_memory."""

    def __init__(self, monkeypatch, name):
        self.left = 1
        made = getattr(vostok.Context, name)

        def method(context, *arguments, **options):
            if self.left:
                self.left = 0
                raise vostok.OutOfMemory("cannot allocate 12 bytes")
            return made(context, *arguments, **options)

        monkeypatch.setattr(vostok.Context, name, method)


@pytest.mark.parametrize("what", ["topology_at", "plan"])
@pytest.mark.parametrize("frozen", [False, True])
def test_whatever_is_made_is_made_again_with_torchs_memory_given_back(monkeypatch, fresh, what, frozen):
    given_back = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given_back.append(1))
    sparse, dense = layer(16, 24)
    x = torch.randn(3, 24)
    with_memory = _devices.with_memory

    def as_on_a_gpu(index, make):
        with monkeypatch.context() as patch:
            patch.setattr(_devices, "is_capturing", lambda index: False)
            return with_memory(0, make)

    for module in ("_lookup", "_packed"):
        monkeypatch.setattr(f"vostok.torch.{module}.with_memory", as_on_a_gpu)
    failing = Failing(monkeypatch, what)
    with torch.no_grad():
        y = (sparse.freeze(4) if frozen else sparse)(x)
    assert given_back == [1] and not failing.left
    assert_close(y, x.double() @ dense.weight.double().mT + dense.bias.double())


def test_large_weights_are_planned_as_cold_by_every_product(fresh, monkeypatch):
    policies = []
    plan = vostok.Context.plan

    def recorded(context, problem, *arguments, **options):
        policies.append((type(problem).__name__, options.get("policy", "warm")))
        return plan(context, problem, *arguments, **options)

    monkeypatch.setattr(vostok.Context, "plan", recorded)
    sparse, _ = layer(16, 24)
    context = _devices.context_of(-1)
    bytes_of_weights = sparse.nonzeros * 8
    found = {}
    for half in (bytes_of_weights, bytes_of_weights - 1):
        vt.clear()
        policies.clear()
        info = dataclasses.replace(context.device, gpu=True, l2_bytes=2 * half)
        with monkeypatch.context() as patch:
            patch.setattr(context, "device", info)
            with torch.no_grad():
                sparse(torch.randn(2, 24))
                vt.spmm(sparse.csr(), torch.randn(24, 2))
                sparse.freeze(2)(torch.randn(2, 24))
        found[half] = set(policies)
    vt.clear()
    assert found == {bytes_of_weights: {("Spmm", "warm")}, bytes_of_weights - 1: {("Spmm", "cold")}}


def test_gradients_are_the_cheap_kind_and_operators_are_plain_ones():
    """custom_op, register_autograd, functions with setup_context and DLPack cost 5 to 30 us a call each."""
    functions = [
        each
        for each in torch.autograd.Function.__subclasses__()
        if each.__module__.startswith("vostok.torch._") and "forward" in vars(each)
    ]
    assert len(functions) >= 7
    assert not [each for each in functions if "setup_context" in vars(each)]
    assert not [name for name in torch._library.custom_ops.OPDEFS if name.startswith("vostok::")]
    dear = re.compile(r"custom_op\(|register_autograd\(|dlpack\(|register_autocast\(")
    assert not [path.name for path in PACKAGE.glob("*.py") if dear.search(path.read_text())]


def test_two_tests_at_most_go_through_inductor_on_the_cpu():
    """Inductor compiles C++, 20 to 40 s a test; aot_eager has the same tracing and gradients."""
    slow = []
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name == "test_torch_gpu.py":
            continue
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                    continue
                backend = any(keyword.arg == "backend" for keyword in call.keywords)
                if call.func.attr == "aoti_compile_and_package" or (call.func.attr == "compile" and not backend):
                    if ast.unparse(call.func) != "re.compile":
                        slow.append(f"{path.name}: {function.name}")
    assert len(set(slow)) <= 2, slow
