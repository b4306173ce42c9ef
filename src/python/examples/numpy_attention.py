"""Attention of which each query reads a band of keys: in one call, and made of its three operations."""

import numpy as np

import vostok

rng = np.random.default_rng(1)
heads, tokens, size = 2, 128, 32
q, k, v = (rng.standard_normal((heads, tokens, size)).astype(np.float32) for _ in range(3))
mask = vostok.tools.banded_mask((tokens, tokens), 16, causal=True)

out = vostok.attention(q, k, v, mask)

scores = vostok.sddmm(mask, q, k, scale=size**-0.5)
print(f"{scores}")
steps = vostok.softmax(scores) @ v
print(f"{out.shape}: the two differ by {abs(out - steps).max():.1e}")

dq, dk, dv = vostok.attention_backward(q, k, v, np.ones_like(out), mask)
print(f"gradients: {dq.shape}, {dk.shape}, {dv.shape}")
