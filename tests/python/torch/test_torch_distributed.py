"""Two processes: tensor parallelism, DDP, FSDP2, DTensor, tuning over ranks. gloo here; NCCL where two GPUs are."""

import warnings

import pytest
import torch
import torch.distributed as dist
from ranks import run_ranks
from torch import nn

import vostok.torch as vt

if not dist.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

import vostok.torch.distributed as vtd  # noqa: E402


@pytest.fixture
def backend():
    """NCCL where there are two GPUs."""
    return "nccl" if torch.cuda.is_available() and torch.cuda.device_count() > 1 else "gloo"


def model_of(device):
    """The same on every rank; rows differ in length."""
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 12))
    for place in (0, 2):
        weight = model[place].weight
        density = 0.2 + 0.6 * torch.arange(weight.shape[0])[:, None] / weight.shape[0]
        model[place] = vt.SparseLinear.from_dense(model[place], mask=torch.rand_like(weight) < density)
    x = torch.randn(6, 24)
    return model.to(device), x.to(device)


def reference(device):
    model, x = model_of(device)
    x.requires_grad_()
    y = model(x)
    y.square().sum().backward()
    return model, x, y.detach()


def close(found, expected):
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-3), float((found - expected).abs().max())


def parallel(rank, size, device):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import parallelize_module

    mesh = init_device_mesh(device, (size,))
    whole, x, y = reference(device)
    for gather in (False, True):
        model, own = model_of(device)
        own.requires_grad_()
        if gather:
            style = vtd.ColwiseSparse(gather=True)
            parallelize_module(model, mesh, {"0": style})
            split = style.split
        else:
            split = vtd.balanced_split([model[0]], [model[2]], size, granularity=4)
            plan = {"0": vtd.ColwiseSparse(split), "2": vtd.RowwiseSparse(split)}
            parallelize_module(model, mesh, plan)
        assert split[1] > 16  # the first rows are short: balanced by nonzeros, not by rows
        out = model(own)
        out.square().sum().backward()
        close(out, y)
        close(own.grad, x.grad)
        start, end = (int(whole[0].row_offsets[split[rank + i]]) for i in (0, 1))
        close(model[0].values.grad, whole[0].values.grad[start:end])
        if not gather:
            close(model[2].sum_bias.grad, whole[2].bias.grad)


def data_parallel(rank, size, device):
    from torch.nn.parallel import DistributedDataParallel

    whole, x, _ = reference(device)
    for ignore in (True, False):
        model, own = model_of(device)
        if ignore:
            assert "0.row_offsets" in vtd.ignore_indices(model)
        replica = DistributedDataParallel(model)
        half = own[rank * 3 : rank * 3 + 3]
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(5):
                model.zero_grad()
                replica(half).square().sum().backward()
        close(model[0].values.grad * size, whole[0].values.grad)
        told = [w for w in seen if "ignore_indices" in str(w.message)]
        assert bool(told) != ignore, told


def fully_sharded(rank, size, device):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device, (size,))
    whole, _, y = reference(device)
    model, x = model_of(device)
    for module in (model[0], model[2], model):
        fully_shard(module, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    out = model(x)
    out.square().sum().backward()
    close(out, y)
    close(model[0].values.grad.full_tensor(), whole[0].values.grad)
    misses = vt._lookup.LOOKUP.misses
    optimizer.step()
    model(x).square().sum().backward()
    assert vt._lookup.LOOKUP.misses == misses  # values move at every step, and are no keys


def dtensors(rank, size, device):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

    mesh = init_device_mesh(device, (size,))
    model, x = model_of(device)
    layer = model[0]
    own = x.clone().requires_grad_()
    expected = layer(own)
    expected.square().sum().backward()

    def spread(tensor, placement=None):
        return distribute_tensor(tensor.detach(), mesh, [placement or Replicate()])

    values, bias, sharded = (
        t.requires_grad_() for t in (spread(layer.values), spread(layer.bias), spread(x, Shard(0)))
    )
    indices = spread(layer.row_offsets), spread(layer.column_indices)
    y = torch.ops.vostok.linear(sharded, values, *indices, 32, 24, bias)
    assert y.placements == (Shard(0),)
    y.square().sum().backward()
    assert values.grad.placements == (Partial(),)
    close(y.full_tensor(), expected)
    close(values.grad.full_tensor(), layer.values.grad)
    close(bias.grad.full_tensor(), layer.bias.grad)
    close(sharded.grad.full_tensor(), own.grad)


def tuned(rank, size, device):
    from vostok.torch import _prepare, tuning

    model, _ = model_of(device)
    model[0].eval()
    if rank == 1:  # a rank on which everything fails takes part all the same
        make, tuning.make_plan = tuning.make_plan, lambda part, options: _failing(part)
    report = vt.tuning.tune(model, [2], effort="quick", seconds=0.5, group=True, progress=False, training=False)
    names = sorted((row.name, bool(row.error)) for row in report)
    assert names == [("0", False), ("2", True)], names
    if rank == 1:
        tuning.make_plan = make
    families = [row.family for row in _prepare.prepare(model, [2], training=False, progress=False)]
    everyone = [None] * size
    dist.all_gather_object(everyone, families)
    assert everyone[0] == everyone[1]


def _failing(part):
    return vt._report.PlanRow(part.name, part.operation, part.tokens, error="planted")


@pytest.mark.parametrize("function", [parallel, data_parallel, fully_sharded, dtensors, tuned])
def test_two_ranks_compute_what_one_does(function, backend):
    run_ranks(function, 2, backend)


def test_splits_are_balanced_whole_and_checked():
    model, _ = model_of("cpu")
    split = vtd.balanced_split([model[0]], [model[2]], 4, granularity=2)
    assert split[0] == 0 and split[-1] == 32 and all(bound % 2 == 0 for bound in split)
    counts = model[0].row_offsets.diff()
    parts = [int(counts[first:last].sum()) for first, last in zip(split, split[1:])]
    assert max(parts) < 1.5 * sum(parts) / 4
    for arguments in (([], [], 2), ([model[0]], [model[0]], 2), ([model[0]], [], 3, 16), ([model[0]], [], 2, 5)):
        with pytest.raises(ValueError, match="cannot split"):
            vtd.balanced_split(*arguments)


def test_shards_put_together_are_the_matrix():
    a, _ = model_of("cpu")
    whole = a[0].csr()
    rows = [vtd.rows_of(whole, 0, 5), vtd.rows_of(whole, 5, 32)]
    columns = [vtd.columns_of(whole, 0, 9), vtd.columns_of(whole, 9, 24)]
    assert torch.equal(torch.cat([vt.dense(part) for part in rows]), vt.dense(whole))
    assert torch.equal(torch.cat([vt.dense(part) for part in columns], 1), vt.dense(whole))
