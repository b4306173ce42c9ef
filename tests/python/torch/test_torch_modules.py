"""SparseLinear, FrozenSparseLinear, RigL and the files of packed models."""

import copy
import gc

import pytest
import torch
from cases import assert_close, layer, matrix, weight
from torch import nn
from torch.nn.utils import prune

import vostok
import vostok.torch as vt


def dense_reference(dense, x):
    return x.double() @ dense.weight.double().mT + dense.bias.double()


def test_a_layer_of_a_dense_one_computes_the_same_and_goes_back(device):
    sparse, dense = layer(16, 24, device=device)
    x = torch.randn(2, 3, 24, device=device)
    assert_close(sparse(x), dense_reference(dense, x))
    back = sparse.to_dense()
    assert torch.equal(back.weight, dense.weight) and torch.equal(back.bias, dense.bias)
    with pytest.warns(UserWarning, match="makes the dense matrix"):
        assert torch.equal(sparse.weight, dense.weight)
    assert sorted(sparse.state_dict()) == ["bias", "column_indices", "row_offsets", "values"]
    with pytest.raises(ValueError, match="no activation 'relu'"):
        vt.SparseLinear.from_dense(dense, activation="relu").to_dense()


def test_a_layer_that_prune_holds_keeps_its_mask_and_the_values_under_it(device):
    dense = nn.Linear(24, 16, device=device)
    prune.l1_unstructured(dense, "weight", 0.7)
    dense.weight_orig.data[dense.weight_mask.nonzero(as_tuple=True)] *= 1.5
    with torch.no_grad():
        x = torch.randn(3, 24, device=device)
        kept = dense.weight_mask.nonzero()[0]
        dense.weight_orig[tuple(kept)] = 0  # a zero that the mask keeps stays trainable
        sparse = vt.SparseLinear.from_dense(dense)
        assert sparse.nonzeros == int(dense.weight_mask.sum())
        assert_close(sparse(x), dense_reference(dense, x)) if not dense(x).isnan().any() else None
        assert_close(sparse(x), dense(x).double())


@pytest.mark.parametrize("assign", [False, True])
def test_loading_takes_other_masks_dense_weights_and_those_of_prune(device, assign):
    x = torch.randn(3, 24, device=device)
    sparse, dense = layer(16, 24, device=device)
    pruned = nn.Linear(24, 16, device=device)
    prune.random_unstructured(pruned, "weight", 0.6)
    for state, expected in (
        (sparse.state_dict(), sparse(x)),
        (dense.state_dict(), dense(x)),
        (pruned.state_dict(), pruned(x)),
    ):
        other, _ = layer(16, 24, 0.2, device=device)
        other(x)
        parameter = other.values
        state = {name: tensor.clone() for name, tensor in state.items()}
        other.load_state_dict(state, assign=assign)
        assert_close(other(x), expected.double())
        assert assign or other.values is parameter
    with pytest.raises(RuntimeError, match=r"weight has shape \(4, 4\), and the layer has \(16, 24\)"):
        sparse.load_state_dict({"weight": torch.zeros(4, 4), "bias": torch.zeros(16)})


def test_loading_an_equally_large_mask_into_a_used_layer_uses_the_new_one(device):
    x = torch.randn(3, 24, device=device)
    sparse, dense = layer(16, 24, device=device)
    sparse(x)
    flipped = nn.Linear(24, 16, device=device)
    flipped.load_state_dict({"weight": dense.weight.flip(1), "bias": dense.bias})
    sparse.load_state_dict(vt.SparseLinear.from_dense(flipped).state_dict())
    assert_close(sparse(x), dense_reference(flipped, x))


def test_set_mask_carries_over_what_both_masks_have_in_the_same_parameter(device):
    sparse, dense = layer(16, 24, device=device)
    parameter, old = sparse.values, dense.weight.detach().clone()
    mask = vt.csr((torch.rand(16, 24, device=device) < 0.5).float())
    before = sparse.values.detach().clone()
    places = sparse.set_mask(mask.row_offsets, mask.column_indices)
    assert sparse.values is parameter
    assert torch.equal(vt.dense(sparse.csr()), old * vt.dense(mask))
    assert torch.equal(torch.where(places >= 0, before[places.clamp(min=0)], 0), sparse.values)
    with pytest.raises(ValueError, match="column_indices go to 24"):
        sparse.set_mask(mask.row_offsets, mask.column_indices + 1)
    with pytest.raises(ValueError, match="row_offsets have 3 elements"):
        sparse.set_mask(mask.row_offsets[:3], mask.column_indices)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_conversions_of_the_module_convert_the_bias_and_leave_indices(device, dtype):
    sparse, dense = layer(16, 24, device=device)
    sparse.to(dtype)
    x = torch.randn(3, 24, device=device).to(dtype)
    assert sparse.bias.dtype == sparse.values.dtype == dtype and sparse.row_offsets.dtype == torch.int32
    assert_close(sparse(x), dense_reference(dense.to(dtype), x))


def test_a_copy_is_independent(device):
    sparse, dense = layer(16, 24, device=device)
    x = torch.randn(3, 24, device=device)
    y = sparse(x)
    other = copy.deepcopy(sparse)
    with torch.no_grad():
        sparse.values.zero_()
    assert torch.equal(other(x), y)


def test_training_with_adamw_is_that_of_the_masked_dense_layer(device):
    sparse, dense = layer(16, 24, device=device)
    mask = dense.weight != 0
    x = torch.randn(8, 24, device=device)
    optimizers = [torch.optim.AdamW(m.parameters(), 1e-2) for m in (sparse, dense)]
    for _ in range(5):
        for model, optimizer in zip((sparse, dense), optimizers):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            if model is dense:
                dense.weight.grad.mul_(mask)
            optimizer.step()
    assert torch.allclose(vt.dense(sparse.csr()), dense.weight, atol=1e-5)


def test_a_frozen_layer_computes_the_same_for_any_number_of_tokens(device):
    sparse, dense = layer(16, 24, device=device)
    frozen = sparse.freeze(4)
    assert frozen.source is None and sparse.freeze(4, keep_values=True).source is sparse
    with torch.no_grad():
        for tokens in (1, 3, 4, 11):
            x = torch.randn(tokens, 24, device=device)
            assert_close(frozen(x), dense_reference(dense, x))
        assert frozen(torch.randn(0, 24, device=device)).shape == (0, 16)
        with pytest.raises(TypeError, match="x has dtype torch.float16, and packed holds f32"):
            frozen(x.half())
    with pytest.raises(RuntimeError, match="packed weights are for inference"):
        frozen(x.requires_grad_())


def test_packing_keeps_no_csr_in_the_look_up(device, fresh):
    sparse, _ = layer(16, 24, device=device)
    with torch.no_grad():
        sparse(torch.randn(2, 24, device=device))
    kept = sparse.freeze(2, keep_values=True)
    assert [entry.packed is None for entry in fresh.lookup.entries.values()] == [True, False]
    frozen = sparse.freeze(2)
    assert [entry.packed is None for entry in fresh.lookup.entries.values()] == [False, False]
    assert kept.packed.nbytes == frozen.packed.nbytes


def model_of(device):
    model = nn.Sequential(layer(16, 24, device=device)[0], nn.GELU(), layer(8, 16, device=device)[0], nn.Linear(8, 4))
    return model.to(device).eval()


def test_all_layers_of_a_model_are_frozen_beside_one_another(device):
    layers = [layer(16, 16, device=device)[0] for _ in range(12)]
    model = nn.Sequential(*layers, layers[0], nn.Sequential(layers[1], nn.Linear(16, 16, device=device)))
    x = torch.randn(3, 16, device=device)
    with torch.no_grad():
        expected = model(x)
        with pytest.raises(ValueError, match="max_tokens is 0, and must be at least 1"):
            vt.freeze_(model, 0)
        assert isinstance(model[0], vt.SparseLinear)
        assert vt.freeze_(model, 4) is model
        assert all(isinstance(module, vt.FrozenSparseLinear) for module in model[:13])
        assert model[12] is model[0] and model[13][0] is model[1] and isinstance(model[13][1], nn.Linear)
        assert_close(model(x), expected.double(), factor=64)
    assert isinstance(vt.freeze_(layers[2], 4), vt.FrozenSparseLinear)


def test_packed_files_hold_a_model_and_load_into_its_dense_architecture(device, tmp_path):
    pytest.importorskip("safetensors")
    model = model_of(device)
    for place in (0, 2):
        model[place] = model[place].freeze(4)
    model.add_module("tied", nn.Linear(8, 4, device=device))
    model.tied.weight = model[3].weight
    path = tmp_path / "model.safetensors"
    vt.save_packed(model, path)
    dense = nn.Sequential(nn.Linear(24, 16), nn.GELU(), nn.Linear(16, 8), nn.Linear(8, 4)).to(device).eval()
    dense.add_module("tied", nn.Linear(8, 4, device=device))
    loaded = vt.load_packed(dense, path)
    x = torch.randn(3, 24, device=device)
    with torch.no_grad():
        assert torch.equal(loaded[:3](x), model[:3](x))
    assert torch.equal(loaded.tied.weight, model.tied.weight)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.safetensors"]
    with pytest.raises(vostok.IoFailure, match="cannot load"):
        vt.load_packed(nn.Linear(2, 2), __file__)
    with pytest.raises(TypeError, match="has no layer '0'"):
        vt.load_packed(nn.Linear(2, 2), path)


def test_safetensors_hold_the_state_of_a_sparse_layer(device, tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    sparse, _ = layer(16, 24, device=device)
    safetensors.save_file(sparse.state_dict(), tmp_path / "layer.safetensors")
    other, _ = layer(16, 24, 0.1, device=device)
    other.load_state_dict(safetensors.load_file(tmp_path / "layer.safetensors"))
    x = torch.randn(3, 24, device=device)
    assert torch.equal(other(x), sparse(x))


def test_packed_bytes_that_are_damaged_are_refused(device):
    sparse, _ = layer(16, 24, device=device)
    frozen = sparse.freeze(2)
    x = torch.randn(2, 24, device=device)

    def refused(packed, head, match="cannot"):
        with torch.no_grad(), pytest.raises(RuntimeError, match=match):
            torch.ops.vostok.linear_packed(x, packed, head, 16, 24)
        gc.collect()

    for place in (0, 22, 40, 300, frozen.head.numel() - 1):
        head = frozen.head.clone()
        head[place] ^= 0x55
        refused(frozen.packed.clone(), head)
    for size in (0, 100, 256, frozen.head.numel() - 5):
        refused(frozen.packed.clone(), frozen.head[:size].clone())
    for place in (0, frozen.packed.numel() - 1):
        packed = frozen.packed.clone()
        packed[place] ^= 0x55
        refused(packed, frozen.head, "digest")
    refused(frozen.packed[:-1].clone(), frozen.head, "bytes, and head is of")
    other = layer(16, 24, device=device)[0].freeze(2)
    refused(other.packed.clone(), frozen.head)


def test_a_frozen_layer_keeps_its_head_in_host_memory_and_its_type(device, tmp_path):
    sparse, _ = layer(16, 24, device=device)
    frozen = sparse.freeze(2).half().to(device)
    assert frozen.bias.dtype == torch.float16
    frozen.float()
    assert frozen.head.device.type == "cpu" and frozen.head.dtype == frozen.packed.dtype == torch.uint8
    x = torch.randn(2, 24, device=device)
    with torch.no_grad():
        expected = frozen(x)
        torch.save(frozen.state_dict(), tmp_path / "state")
        other = layer(16, 24, 0.9, device=device)[0].freeze(2)
        other.load_state_dict(torch.load(tmp_path / "state"))
        assert torch.equal(other(x), expected)
        # A head that lies on the device is read there, once.
        assert torch.equal(
            torch.ops.vostok.linear_packed(x, frozen.packed.clone(), frozen.head.to(device), 16, 24, frozen.bias),
            expected,
        )


def test_what_was_packed_is_not_loaded_again_and_goes_with_its_tensor(device, fresh):
    sparse, _ = layer(16, 24, device=device)
    frozen = sparse.freeze(2)
    lookup = fresh.lookup
    (entry,) = lookup.entries.values()
    size, misses = frozen.packed.nbytes, lookup.misses
    assert entry.held_bytes < size or entry.copied_bytes
    with torch.no_grad():
        frozen(torch.randn(2, 24, device=device))
    assert list(lookup.entries.values()) == [entry] and lookup.misses == misses + 1  # the plan's
    del frozen
    gc.collect()
    assert entry.is_expired
    sparse(torch.randn(2, 24, device=device))  # a miss, at which the expired goes
    assert entry not in lookup.entries.values()


def test_rigl_moves_values_where_the_gradient_is_largest_and_adams_state_with_them(device):
    sparse, _ = layer(16, 24, device=device)
    optimizer = torch.optim.Adam(sparse.parameters(), 1e-2)
    x, target = torch.randn(8, 24, device=device), torch.randn(8, 16, device=device)
    rigl = vt.RigL(nn.Sequential(sparse), candidates=None)
    with rigl.watching():
        y = sparse(x)
        (y - target).square().sum().backward()
    gradient = (2 * (y - target)).detach().double().mT @ x.double()
    optimizer.step()
    before, moments = vt.dense(sparse.csr()).detach(), optimizer.state[sparse.values]["exp_avg"].clone()
    wide = vt.dense(sparse.csr().with_values(moments))
    count = int(0.25 * sparse.nonzeros)
    assert rigl.step(optimizer, 0.25) == {"0": count}
    now = torch.zeros(16, 24, dtype=torch.bool, device=device)
    now[torch.repeat_interleave(torch.arange(16, device=device), sparse.row_offsets.diff()), sparse.column_indices] = (
        True
    )
    grown = now & (before == 0)
    dropped = ~now & (before != 0)
    assert int(grown.sum()) == int(dropped.sum()) == count
    free = gradient.abs()[before == 0]
    assert gradient.abs()[grown].min() >= free.sort(descending=True).values[count - 1] * (1 - 1e-5)
    assert before[dropped].abs().max() <= before[now & (before != 0)].abs().min()
    state = optimizer.state[sparse.values]["exp_avg"]
    assert torch.equal(vt.dense(sparse.csr().with_values(state)), torch.where(grown, 0, wide) * now)
    with pytest.raises(RuntimeError, match="nothing was seen"):
        rigl.step(optimizer)
    sparse(x).sum().backward()
    optimizer.step()


def test_rigl_looks_at_a_sample_of_candidates_of_its_seed(device):
    masks = []
    start, _ = layer(16, 24, 0.2, device=device)
    for _ in range(2):
        sparse = copy.deepcopy(start)
        rigl = vt.RigL(nn.Sequential(sparse), candidates=2.0, seed=5)
        with rigl.watching():
            sparse(torch.ones(2, 24, device=device)).square().sum().backward()
        rigl.step(None, 0.5)
        masks.append(sparse.column_indices)
    assert torch.equal(*masks) and masks[0].shape == start.column_indices.shape
    with pytest.raises(ValueError, match="no SparseLinear"):
        vt.RigL(nn.Linear(2, 2))


def test_functions_and_layers_share_an_entry(device, fresh):
    a, _ = matrix(16, 24, device=device)
    sparse = vt.SparseLinear(a)
    x = torch.randn(3, 24, device=device)
    assert torch.equal(sparse(x), vt.linear(x, a))
    assert len(fresh.lookup.entries) == 1
    assert weight(3, 3).shape == (3, 3)
