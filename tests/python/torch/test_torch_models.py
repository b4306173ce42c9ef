"""Whole models: decoders as Hugging Face builds them, copies, checkpoints of activations, and progress."""

import copy
import io
from dataclasses import dataclass

import pytest
import torch
from cases import assert_close, layer
from torch import nn
from torch.utils.checkpoint import checkpoint

import vostok.torch as vt

ALL = {"min_speedup": 0.0, "progress": False}


@dataclass
class Config:
    hidden_size: int = 32
    intermediate_size: int = 48
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    vocab_size: int = 40


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.size = config.hidden_size // config.num_attention_heads
        narrow = self.size * config.num_key_value_heads
        self.groups = config.num_attention_heads // config.num_key_value_heads
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, narrow, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, narrow, bias=False)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, x):
        q, k, v = (
            projected.unflatten(-1, (-1, self.size)).transpose(1, 2)
            for projected in (self.q_proj(x), self.k_proj(x), self.v_proj(x))
        )
        k, v = (each.repeat_interleave(self.groups, 1) for each in (k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(-2))


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attn, self.mlp = Attention(config), Mlp(config)
        self.input_layernorm, self.post_attention_layernorm = (nn.RMSNorm(config.hidden_size) for _ in range(2))

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """Of the sizes, names and ties of Llama's."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.lm_head.weight = self.embed_tokens.weight

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for block in self.layers:
            x = block(x)
        return self.lm_head(self.norm(x))


@torch.no_grad()
def prune_(model, kinds=(nn.Linear,), sparsity=0.6):
    """The smallest weights of every matrix become zeros."""
    for module in model.modules():
        if isinstance(module, kinds) and module.weight.dim() == 2:
            sizes = module.weight.abs().flatten()
            least = sizes.kthvalue(max(1, int(sparsity * sizes.numel()))).values
            module.weight[module.weight.abs() <= least] = 0
    return model


@pytest.mark.parametrize("freeze", [False, True])
def test_a_pruned_decoder_of_a_config_computes_the_same_sparse(device, freeze):
    model = prune_(Decoder(Config()).to(device).eval())
    tokens = torch.randint(40, (2, 7), device=device)
    with torch.no_grad():
        expected = model(tokens)
        report = vt.sparsify_(model, freeze=freeze, max_tokens=16, **ALL)
        assert_close(model(tokens), expected.double(), factor=64)
    assert sum(row.sparse for row in report) == 14 and len(report) == 15
    assert report["lm_head"].reason == "its weight is shared: embed_tokens, lm_head"
    assert report["layers.1.mlp.down_proj"].shape == (32, 48)
    with torch.no_grad():
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        assert torch.equal(compiled(tokens), model(tokens))
    torch._dynamo.reset()


def huggingface(name):
    """A tiny model of transformers, made from a configuration, and its pruned kinds."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {"vocab_size": 40, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    if name == "llama":
        config = transformers.LlamaConfig(
            hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=32, tie_word_embeddings=True, **sizes,
        )  # fmt: skip
        return transformers.LlamaForCausalLM(config)
    if name == "gpt2":
        config = transformers.GPT2Config(n_embd=32, n_layer=1, n_head=4, n_positions=32, **sizes)
        return transformers.GPT2LMHeadModel(config)
    config = transformers.T5Config(d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4, **sizes)
    config.decoder_start_token_id = 0
    return transformers.T5ForConditionalGeneration(config)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, count, freeze",
    [(name, count, freeze) for name, count in (("llama", 14), ("gpt2", 4), ("t5", 16)) for freeze in (False, True)],
)
def test_models_of_transformers_generate_the_same_tokens_sparse(device, name, count, freeze):
    model = huggingface(name)
    kinds = (nn.Linear, *({type(m) for m in model.modules() if type(m).__name__ == "Conv1D"}))
    model = prune_(model.to(device).eval(), kinds)
    tokens = torch.randint(3, 40, (2, 5), device=device)
    options = {"max_new_tokens": 4, "do_sample": False, "attention_mask": torch.ones_like(tokens)}
    with torch.no_grad():
        expected = model.generate(tokens, output_logits=True, return_dict_in_generate=True, **options)
        report = vt.sparsify_(model, freeze=freeze, max_tokens=16, **ALL)
        assert sum(row.sparse for row in report) == count, str(report)
        found = model.generate(tokens, output_logits=True, return_dict_in_generate=True, **options)
    assert torch.equal(found.sequences, expected.sequences)
    for step, exact in zip(found.logits, expected.logits):
        assert_close(step, exact.double(), factor=64)


def test_copies_and_saved_states_of_used_models_are_independent(device):
    sparse, dense = layer(16, 24, device=device)
    frozen = sparse.freeze(4)
    x = torch.randn(3, 24, device=device)
    with torch.no_grad():
        for original in (sparse, frozen):
            expected = original(x)
            other = copy.deepcopy(original)
            file = io.BytesIO()
            torch.save(original.state_dict(), file)
            file.seek(0)
            state = torch.load(file, weights_only=True)
            for tensor in (*original.parameters(), *original.buffers()):
                tensor.zero_()
            assert torch.equal(other(x), expected)
            other.load_state_dict(state)
            assert torch.equal(other(x), expected)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_activations_give_the_same_gradients(device, reentrant):
    model = nn.Sequential(layer(16, 24, device=device)[0], nn.GELU(), layer(24, 16, device=device)[0])
    x = torch.randn(3, 24, device=device, requires_grad=True)
    gradients = []
    for run in (model, lambda x: checkpoint(model, x, use_reentrant=reentrant)):
        model.zero_grad()
        x.grad = None
        run(x).square().sum().backward()
        gradients.append([x.grad, *(parameter.grad for parameter in model.parameters())])
    assert all(torch.equal(one, other) for one, other in zip(*gradients))


def test_long_work_shows_its_progress(capsys):
    model = nn.Sequential(*(prune_(nn.Linear(12, 12)) for _ in range(9)))
    vt.sparsify_(model, min_speedup=0.0)
    assert "] 9/9 8" in capsys.readouterr().err
    vt.prepare(model[:2].eval(), [2])
    assert "] 2/2 1 linear 2" in capsys.readouterr().err
    vt.tuning.tune(model[:1].eval(), [2], effort="quick", seconds=0.2)
    assert "] 1/1 0 linear 2" in capsys.readouterr().err
    vt.sparsify_(nn.Sequential(*(nn.Linear(2, 2) for _ in range(9))), progress=False)
    assert capsys.readouterr().err == ""
