"""A sparse matrix times a dense one, three ways: in one line, as a layer of a network, and by a plan."""

import numpy as np

import vostok

rng = np.random.default_rng(1)
w = rng.standard_normal((256, 512)).astype(np.float32)
w[abs(w) < 1.3] = 0  # about 80 % of the elements

# In one line. SciPy's sparse matrices are taken too, and (data, indices, indptr, shape).
a = vostok.csr(w)
x = rng.standard_normal((512, 64)).astype(np.float32)
y = a @ x
print(f"{a}: differs from NumPy by {abs(y - w @ x).max():.1e}")

# As a layer: x W^T + bias, with an activation, and nothing is transposed.
tokens = rng.standard_normal((3, 16, 512)).astype(np.float32)
bias = rng.standard_normal(256).astype(np.float32)
out = vostok.linear(tokens, a, bias, activation="relu")
print(f"layer: {out.shape}, differs by {abs(out - np.maximum(tokens @ w.T + bias, 0)).max():.1e}")

# Packed once for products of up to 64 columns: the layout that the fastest kernels read.
packed = a.pack(64)
print(f"{packed}: differs by {abs(packed @ x - y).max():.1e}")

# By a plan, as a program does that calls it often: it takes addresses, and nothing is allocated at the call.
context = vostok.default_context()
plan = context.plan(vostok.Spmm(n=64, bias="per_row"), a.topology)
values, dense, output, shift = (context.array(array) for array in (a.values, x, np.zeros_like(y), bias))
workspace = plan.make_workspace()
plan.execute(
    0,
    values=values.address,
    dense=dense.address,
    output=output.address,
    bias=shift.address,
    workspace=workspace.address if workspace else 0,
)
output.stream = 1  # what was queued on the legacy stream is waited for
print(f"plan: {plan.family}, differs by {abs(output.numpy() - (y + bias[:, None])).max():.1e}")
