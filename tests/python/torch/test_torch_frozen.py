"""Frozen layers: the policy that a model's layers are planned under."""

import contextlib
import dataclasses
import struct
import zlib

import pytest
import torch
from cases import OPS, assert_close, layer, matrix
from torch import nn
from torch._subclasses import FakeTensorMode

import vostok
import vostok.torch as vt
from vostok.torch import _stored
from vostok.torch._devices import current_context
from vostok.torch._freezing import bytes_by_device


@pytest.fixture
def cache_of(device, monkeypatch):
    """Makes the device a GPU whose last-level cache has so many bytes, as vostok.torch sees it."""
    context = current_context(device)
    info = context.device
    return lambda size: monkeypatch.setattr(context, "device", dataclasses.replace(info, gpu=True, l2_bytes=size))


@pytest.fixture
def policies(monkeypatch):
    """The policies of the plans that are made from here on."""
    seen, plan = [], vostok.Context.plan

    def planned(*args, **options):
        seen.append(options["policy"])
        return plan(*args, **options)

    monkeypatch.setattr(vostok.Context, "plan", planned)
    return seen


def model_of(device, count=3):
    return nn.Sequential(*(layer(16, 16, device=device)[0] for _ in range(count)))


def policy_of_head(frozen):
    return _stored.header_of(frozen.head).policy


def test_bytes_of_a_model_count_shared_memory_once():
    model = nn.ModuleDict({"first": nn.Linear(4, 6), "second": nn.Linear(6, 4, bias=False), "tied": nn.Linear(4, 6)})
    model.tied.weight = model.first.weight
    model.register_buffer("view", model.second.weight.detach()[:2])
    model.register_buffer("mask", torch.ones(10, dtype=torch.bool))
    model.register_buffer("sparse", torch.eye(3).to_sparse())
    model.add_module("lazy", nn.LazyLinear(3))
    model.add_module("meta", nn.Linear(3, 3, device="meta"))
    assert bytes_by_device(model) == {torch.device("cpu"): 4 * (24 + 6 + 24 + 6) + 10}


@pytest.mark.parametrize("share, expected", [(1, "cold"), (2, "")])
def test_layers_of_a_model_larger_than_half_of_the_last_cache_are_frozen_as_cold(
    device, cache_of, policies, share, expected
):
    model = model_of(device)
    size = sum(bytes_by_device(model).values())
    cache_of(share * size)  # each layer alone is smaller than half of it
    vt.freeze_(model, 4)
    assert [policy_of_head(each) for each in model] == 3 * [expected]
    assert policies == 3 * [expected or "warm"]


def test_sparsify_looks_at_the_model_as_a_whole_too(device, cache_of):
    for share, expected in ((1, "cold"), (2, "")):
        model = nn.Sequential(*(layer(16, 16, device=device)[1] for _ in range(3)))
        cache_of(share * sum(bytes_by_device(model).values()))
        vt.sparsify_(model, freeze=True, min_speedup=0, progress=False)
        assert [policy_of_head(each) for each in model] == 3 * [expected]


def test_a_single_layer_is_a_model_of_its_own(device, cache_of):
    sparse, _ = layer(16, 24, device=device)
    cache_of(sum(bytes_by_device(sparse).values()))
    assert policy_of_head(vt.freeze_(sparse, 4)) == "cold"
    assert policy_of_head(sparse.freeze(4)) == ""


def test_a_policy_stays_with_packed_bytes_and_every_plan_of_them_has_it(device, fresh, cache_of, policies, tmp_path):
    cache_of(1 << 40)
    sparse, dense = layer(16, 24, device=device)
    frozen = sparse.freeze(4, policy="cold")
    torch.save(frozen.state_dict(), tmp_path / "state")
    other = sparse.freeze(4)
    x = torch.randn(3, 24, device=device)
    del policies[:]
    with torch.no_grad():
        other(x)
        other.load_state_dict(torch.load(tmp_path / "state"))
        assert policies == ["warm"]
        assert_close(other(x), x.double() @ dense.weight.double().mT + dense.bias.double())
        vt.clear()
        assert not vt.prepare(other, progress=False)[0].error
    assert policies == ["warm", "cold", "cold"]


def test_on_the_emulator_every_plan_is_warm(fresh, policies):
    frozen = layer(16, 24)[0].freeze(4, policy="cold")
    with torch.no_grad():
        frozen(torch.randn(3, 24))
    assert policies == ["warm", "warm"]


def test_policies_that_are_not_there_are_refused_by_name(device):
    a, _ = matrix(6, 9, device=device)
    text = "cannot run vostok::pack: policy is 'hot', and may be warm, cold"
    with pytest.raises(vostok.InvalidArgument, match=text):
        vt.SparseLinear(a).freeze(4, policy="hot")
    for mode in (contextlib.nullcontext(), FakeTensorMode(allow_non_fake_inputs=True)):
        with mode, pytest.raises(ValueError, match=text):
            OPS.pack(a.values, a.row_offsets, a.column_indices, 6, 9, 2, policy="hot")


def test_heads_of_another_policy_or_version_are_refused():
    header = _stored.Header(6, 9, 2, "f32", "accurate", "cold", 512)
    assert vars(_stored.Header.of(header.to_bytes())) == vars(header)
    header.policy = "hot"
    with pytest.raises(vostok.IoFailure, match="they are of policy 'hot'"):
        _stored.Header.of(header.to_bytes())
    before = struct.pack("<20sIqqqq8s8s", _stored._MAGIC, 3, 6, 9, 2, 512, b"f32", b"accurate")
    before += struct.pack("<I", zlib.crc32(before))
    with pytest.raises(vostok.IoFailure, match="they have version 3, and this package has 4"):
        _stored.Header.of(before.ljust(_stored.HEADER_BYTES, b"\0"))


def test_packed_files_keep_the_policy(device, cache_of, tmp_path):
    pytest.importorskip("safetensors")
    model = model_of(device, 2)
    cache_of(sum(bytes_by_device(model).values()))
    vt.save_packed(vt.freeze_(model, 4), tmp_path / "model.safetensors")
    dense = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16)).to(device)
    loaded = vt.load_packed(dense, tmp_path / "model.safetensors")
    assert [policy_of_head(each) for each in loaded] == ["cold", "cold"]
