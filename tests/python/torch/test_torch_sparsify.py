"""sparsify_: which layers it replaces, which it leaves and why, each with the model computing the same."""

import sys
import types

import pytest
import torch
from cases import assert_close, weight
from torch import nn
from torch.nn.utils import prune

import vostok.torch as vt

ALL = {"min_speedup": 0.0, "progress": False}


def pruned(linear, density=0.3):
    with torch.no_grad():
        linear.weight.copy_(weight(*linear.weight.shape, density, device=linear.weight.device))
    return linear


def mlp(device):
    return nn.Sequential(pruned(nn.Linear(24, 32)), nn.ReLU(), pruned(nn.Linear(32, 16)), nn.Linear(16, 4)).to(device)


def test_pruned_layers_are_replaced_and_dense_ones_are_not(device):
    model = mlp(device)
    x = torch.randn(5, 24, device=device)
    expected = model(x)
    report = vt.sparsify_(model, progress=False)
    assert [row.sparse for row in report] == [True, True, False]
    assert report["3"].reason == "predicted to be faster dense"
    assert report["0"].bytes_after < report["0"].bytes_before and report["0"].sparse_us < report["0"].dense_us
    assert "predicted to be faster dense" in str(report)
    assert_close(model(x), expected.double(), factor=16)


def test_the_prediction_weighs_tokens_element_type_and_sparsity():
    from vostok.torch._cost import dense_cost, sparse_cost

    def speedup(sparsity, tokens, size, frozen=False):
        nonzeros = int((1 - sparsity) * 4096 * 4096)
        dense = dense_cost(None, 4096, 4096, tokens, size)
        return dense.us / sparse_cost(None, 4096, 4096, nonzeros, tokens, size, frozen).us

    assert speedup(0.5, 1, 2, frozen=True) > 1 > speedup(0.2, 1, 2)
    assert speedup(0.9, 1, 2) > speedup(0.7, 1, 2) > speedup(0.5, 1, 2)
    assert speedup(0.7, 1, 2, frozen=True) > 1 > speedup(0.7, 4096, 2, frozen=True)


def test_freezing_packs_and_filters_and_floors_are_kept(device):
    model = mlp(device)
    x = torch.randn(5, 24, device=device)
    expected = model(x)
    report = vt.sparsify_(model, freeze=True, max_tokens=4, filter=lambda name, module: name != "2", **ALL)
    assert isinstance(model[0], vt.FrozenSparseLinear) and isinstance(model[3], vt.FrozenSparseLinear)
    assert isinstance(model[2], nn.Linear) and len(report) == 2
    with torch.no_grad():
        assert_close(model(x), expected.double(), factor=16)
    model = mlp(device)
    assert vt.sparsify_(model, min_sparsity=0.99, **ALL)["0"].reason == "sparsity is below 0.99"


def test_a_layer_used_twice_stays_one_layer():
    model = mlp("cpu")
    model.add_module("again", model[0])
    vt.sparsify_(model, **ALL)
    assert model.again is model[0] and isinstance(model.again, vt.SparseLinear)


def test_layers_that_prune_holds_are_replaced():
    model = mlp("cpu")
    prune.l1_unstructured(model[3], "weight", 0.5)
    report = vt.sparsify_(model, **ALL)
    assert report["3"].sparse and model[3].nonzeros == 32


def reasons():
    tied = nn.ModuleDict({"embedding": nn.Embedding(6, 8), "head": nn.Linear(8, 6)})
    tied.head.weight = tied.embedding.weight
    yield "tied weights", tied, "head", "its weight is shared: embedding, head"
    attention = nn.ModuleDict({"attention": nn.MultiheadAttention(8, 2)})
    yield "MultiheadAttention", attention, "attention.out_proj", "MultiheadAttention reads its weight"
    parametrised = nn.Sequential(nn.utils.parametrizations.orthogonal(nn.Linear(8, 8)))
    yield "parametrised", parametrised, "0", "its weight is parametrised"
    normed = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(8, 8)))
    yield "weight_norm", normed, "0", "its weight is parametrised"
    yield "float64", nn.Sequential(nn.Linear(8, 8).double()), "0", "there are no kernels for torch.float64"

    class Own(nn.Linear):
        pass

    yield "subclass", nn.Sequential(Own(8, 8)), "0", "Own is a subclass of nn.Linear"
    hooked = nn.Sequential(nn.Linear(8, 8))
    hooked[0].register_forward_hook(lambda *arguments: None)
    yield "hooks", hooked, "0", "it has hooks"

    class Lora(nn.Module):
        def __init__(self):
            super().__init__()
            self.base_layer = nn.Linear(8, 8)
            self.lora_A = nn.Linear(8, 2, bias=False)

    yield "LoRA", nn.Sequential(Lora()), "0.base_layer", "a LoRA layer reads its weight"
    quantised = type("Linear8bitLt", (nn.Linear,), {"__module__": "bitsandbytes.nn"})
    yield "quantised", nn.Sequential(quantised(8, 8)), "0", "its weight is quantised"
    older = nn.Sequential(nn.utils.weight_norm(nn.Linear(8, 8)))
    yield "weight_norm of before", older, "0", "its weight is made by weight_norm"
    spectral = nn.Sequential(nn.utils.spectral_norm(nn.Linear(8, 8)))
    yield "spectral_norm of before", spectral, "0", "its weight is made by spectral_norm"
    yield "meta", nn.Sequential(nn.Linear(8, 8, device="meta")), "0", "its weight is on the meta device"
    wrapped = nn.Sequential(nn.Linear(8, 8))
    wrapped[0].weight = nn.Parameter(torch.randn(8, 8).as_subclass(type("Scaled", (torch.Tensor,), {})))
    yield "tensor subclass", wrapped, "0", "its weight is a "
    twins = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    twins[1].weight = twins[0].weight
    yield "two layers of one weight", twins, "1", "its weight is shared: 0, 1"
    dynamic = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 8)), {nn.Linear})
    yield "quantised by torch", dynamic, "0", "its weight is quantised"
    packed = type("QuantLinear", (nn.Module,), {"in_features": 8, "out_features": 8})
    yield "quantised module", nn.Sequential(packed()), "0", "its weight is quantised"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(16))
def test_layers_whose_weight_is_not_theirs_alone_are_left_dense_with_the_reason(number):
    _, model, name, reason = list(reasons())[number]
    report = vt.sparsify_(model, **ALL)
    assert not any(row.sparse for row in report)
    assert report[name].reason.startswith(reason) and not report[name].sparse
    assert not any(isinstance(module, vt.SparseLinear) for module in model.modules())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("freeze", [False, True])
def test_encoders_leave_their_fast_path_which_reads_weights(freeze):
    encoder_layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    encoder = nn.TransformerEncoder(encoder_layer, 2).eval()
    for each in encoder.layers:
        pruned(each.linear1)
        pruned(each.linear2)
    x = torch.randn(2, 3, 16)
    padding = torch.tensor([[False, False, True], [False, False, False]])
    with torch.no_grad():
        expected = encoder(x), encoder(x, src_key_padding_mask=padding)
        report = vt.sparsify_(encoder, freeze=freeze, max_tokens=8, **ALL)
        assert sum(row.sparse for row in report) == 4
        assert report["layers.0.self_attn"].reason.startswith("its projections are one parameter")
        found = encoder(x), encoder(x, src_key_padding_mask=padding)
    assert torch.allclose(found[0], expected[0], atol=1e-5)
    assert torch.allclose(found[1][~padding], expected[1][~padding], atol=1e-5)


def test_conv1d_of_transformers_is_a_linear_layer_the_other_way_round(monkeypatch):
    source = """
import torch
class Conv1D(torch.nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.nf, self.nx = nf, nx
        self.weight = torch.nn.Parameter(torch.randn(nx, nf))
        self.bias = torch.nn.Parameter(torch.randn(nf))
    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.shape[:-1], self.nf)
"""
    module = types.ModuleType("transformers.pytorch_utils")
    exec(source, module.__dict__)
    monkeypatch.setitem(sys.modules, "transformers.pytorch_utils", module)
    model = nn.Sequential(module.Conv1D(12, 8))
    with torch.no_grad():
        model[0].weight.copy_(weight(8, 12))
    x = torch.randn(2, 3, 8)
    expected = model(x)
    report = vt.sparsify_(model, **ALL)
    assert report["0"].sparse and report["0"].shape == (12, 8)
    assert_close(model(x), expected.double(), factor=16)


@pytest.mark.filterwarnings("ignore")
def test_every_reason_is_looked_at():
    assert len(list(reasons())) == 16


def test_code_that_reads_the_weights_type_goes_on():
    """transformers' T5 compares hidden_states.dtype with self.wo.weight.dtype."""
    model = nn.Sequential(pruned(nn.Linear(8, 8)))
    vt.sparsify_(model, **ALL)
    with pytest.warns(UserWarning):
        assert model[0].weight.dtype == torch.float32


def test_a_single_layer_cannot_be_replaced_in_place():
    with pytest.raises(ValueError, match="from_dense"):
        vt.sparsify_(nn.Linear(4, 4))
