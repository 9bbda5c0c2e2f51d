"""Hidden states and unembedding of a transformers model: f(x) is what its output layer reads at the last position."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.exact.probes import Tokens
from symgauge.reading import check_file

_BATCH = 64
_LENGTH = 8
"""The longest random contexts, where the model allows longer ones."""


@dataclass(frozen=True)
class Network:
    """A model with an output layer, and the token sequences that it takes."""

    module: Any
    inputs: Tokens
    notes: tuple[str, ...] = ()


def network(target: str, *, seed: int = 0) -> Network:
    """The model that a command line names.

    A model folder with safetensors weights is loaded in float64; a config.json alone makes a small random instance; a
    file.py:factory makes its own. Raises InvalidInput and UnsupportedModel.
    """
    folder = Path(target)
    if folder.is_dir() and (weights := [*folder.glob("*.safetensors")]):
        for file in weights:
            check_file(file)
        return _with_weights(folder)
    if folder.is_dir() and any(p for suffix in ("*.bin", "*.pt", "*.pth") for p in folder.glob(suffix)):
        raise InvalidInput(
            f"{folder} holds pickled weights only, which are not opened because loading them can run any code; save "
            "the model as safetensors"
        )
    from symgauge.subjects import subject_of

    found = subject_of(target, seed=seed)
    if not isinstance(found.inputs, Tokens):
        raise InvalidInput(f"{target} takes vectors; next-token models take tokens")
    notes = found.notes or (("the parameters are random",) if not target.rpartition(":")[0].endswith(".py") else ())
    return Network(found.module, found.inputs, notes)


def _with_weights(folder: Path) -> Network:
    from symgauge.models.huggingface.small import read_config

    fields = read_config(folder)
    try:
        import transformers
    except ImportError as error:
        raise UnsupportedModel("model folders need transformers: pip install 'symgauge[transformers]'") from error
    name = next(iter(fields.get("architectures") or ()), "")
    kind = getattr(transformers, str(name), None)
    if kind is None or not hasattr(kind, "from_pretrained"):
        raise UnsupportedModel(f"{folder}: transformers has no class {name!r} (config.json, 'architectures')")
    bars = transformers.utils.logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        module, info = kind.from_pretrained(
            folder, use_safetensors=True, local_files_only=True, dtype=torch.float64, attn_implementation="eager",
            output_loading_info=True,
        )  # fmt: skip
    except Exception as error:  # many kinds, depending on what is wrong with the files
        text = next(iter(str(error).splitlines()), type(error).__name__)
        raise InvalidInput(f"{folder}: transformers cannot load it: {text[:200]}") from error
    finally:
        if shown:
            bars.enable_progress_bar()
    missing = sorted(map(str, info.get("missing_keys", ())))
    if missing:
        raise InvalidInput(f"{folder}: the weights lack {missing[0]!r} ({len(missing)} in all), so it would be random")
    text_config = module.config.get_text_config()
    longest = getattr(text_config, "max_position_embeddings", None) or _LENGTH
    return Network(module.eval(), Tokens(text_config.vocab_size, min(int(longest), _LENGTH)))


def random_contexts(inputs: Tokens, count: int, length: int, seed: int) -> Tensor:
    """``count`` distinct token sequences (count, length), or all there are if there are no more."""
    if inputs.vocabulary**length <= count:
        return Tokens(inputs.vocabulary, length).all()
    generator = torch.Generator().manual_seed(seed)
    found = torch.zeros((0, length), dtype=torch.int64)
    while len(found) < count:
        drawn = torch.randint(0, inputs.vocabulary, (count, length), generator=generator)
        found = torch.unique(torch.cat([found, drawn]), dim=0)
    return found[torch.randperm(len(found), generator=generator)[:count]]


def output_layer(module: Any) -> nn.Linear:
    """The linear output layer. Raises UnsupportedModel for a module without one."""
    find = getattr(module, "get_output_embeddings", None)
    head = find() if callable(find) else None
    if not isinstance(head, nn.Linear):
        raise UnsupportedModel(
            f"{type(module).__name__} has no linear output layer (get_output_embeddings), so its hidden states and "
            "unembedding are not known; save them as arrays, or give a transformers model with a language-model head"
        )
    return head


def has_bias(module: Any) -> bool:
    """Whether the output layer has a bias."""
    return output_layer(module).bias is not None


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while: dropout would make f(x) a different vector each time."""
    was = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was)


def unembedding(module: Any) -> Tensor:
    """g (V, d), or (V, d + 1) where the output layer has a bias: its dimension in which every f(x) is 1."""
    head = output_layer(module)
    weight = head.weight.detach()
    return weight if head.bias is None else torch.cat([weight, head.bias.detach()[:, None]], 1)


def hidden_states(module: Any, contexts: Tensor) -> Tensor:
    """f(x) (n, d) for contexts (n, T) of token ids; with a column of ones where the output layer has a bias.

    Raises UnsupportedModel if the logits are not those of the output layer (a soft cap, a scale).
    """
    head = output_layer(module)
    seen: list[Tensor] = []
    hook = head.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0].detach()))
    rows = []
    try:
        with torch.no_grad():
            for batch in contexts.split(_BATCH):
                seen.clear()
                logits = module(batch).logits
                if len(seen) != 1 or seen[0].shape[:2] != batch.shape:
                    raise UnsupportedModel(f"{type(module).__name__} does not run its output layer once per position")
                expected = nn.functional.linear(seen[0], head.weight, head.bias)
                if not torch.allclose(logits, expected, rtol=1e-6, atol=1e-6 * float(expected.abs().max())):
                    raise UnsupportedModel(
                        f"the logits of {type(module).__name__} are not what its output layer gives (a soft cap, or a "
                        "scale), so p(y|x) is not of the form exp(f(x)·g(y))"
                    )
                rows.append(seen[0][:, -1])
    finally:
        hook.remove()
    states = torch.cat(rows)
    return states if head.bias is None else torch.cat([states, torch.ones_like(states[:, :1])], 1)
