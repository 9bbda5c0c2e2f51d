"""Tiny models of types that no family describes, with random weights."""

from functools import cache

import torch
from torch import nn

from symgauge.models.huggingface.any_model import build
from symgauge.models.huggingface.model_class import choose_class, make_config

FIELDS = {
    "olmo": {
        "hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 1,
        "intermediate_size": 12, "vocab_size": 30, "max_position_embeddings": 32, "eos_token_id": 1,
    },
    "gptj": {
        "n_embd": 16, "n_head": 2, "n_layer": 1, "rotary_dim": 4, "vocab_size": 30, "n_positions": 32,
        "bos_token_id": 1, "eos_token_id": 1,
    },
    "t5": {"d_model": 16, "num_heads": 2, "d_kv": 8, "num_layers": 1, "d_ff": 12, "vocab_size": 30},
    "mamba": {"hidden_size": 16, "num_hidden_layers": 1, "vocab_size": 30, "state_size": 3},
    "vit": {
        "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 12, "image_size": 8,
        "patch_size": 4,
    },
}  # fmt: skip
"""Decoder with SwiGLU, rotary decoder, encoder-decoder, state space, vision."""


@cache
def model(model_type):
    made, config, _ = choose_class(make_config({"model_type": model_type, **FIELDS[model_type]}), None)
    return build(made, config)


class Own(nn.Module):
    """A module of one's own: two layers and a ReLU that some neurons never pass."""

    def __init__(self, inner=7):
        super().__init__()
        self.up, self.down = nn.Linear(5, inner), nn.Linear(inner, 3)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Fused(Own):
    """The same function under other names."""

    def __init__(self):
        nn.Module.__init__(self)
        self.layers = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))

    def forward(self, x):
        return self.layers(x)


def own():
    torch.manual_seed(0)
    return Own()
