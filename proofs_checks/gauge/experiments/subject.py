"""What a table experiments on: a layer with its inputs, drawn once, and the errors of changed weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from proofs_checks.gauge.experiments.elements import Elements, act, act_on_biases
from proofs_checks.gauge.experiments.layer import Layer, Sizes, draw, normal
from proofs_checks.gauge.experiments.trials import PLAIN, TOKENS, Biases, Form, Packed, pack, relative_errors
from proofs_checks.gauge.reported import CONFIGURATIONS
from symgauge.experiments.suite import Setting

SIZES = {name: Sizes(*sizes) for name, (sizes, _) in CONFIGURATIONS.items()}
"""F.1.2."""
PAPER_INPUTS, PAPER_ELEMENTS = 1000, 100
SMALL_SPREAD = 0.02
"""The usual initial weight scale of GPT-2 and BERT, an alternative to 1/√d."""
SHORT = 4
"""Tokens: the length at which the errors spread as the source says. Found by trying."""
FLAT = 0.2
"""Weights of so many times 1/√d: attention is nearly uniform then, as Table 3 needs. Found by trying."""
OPEN = {
    "sequence length": f"{TOKENS} tokens",
    "distribution of weights": "independent normal, standard deviation $1/\\sqrt{d}$",
    "distribution of inputs": "independent standard normal entries",
    "biases, mask, positions": "none",
    "what one input is": "one sequence; the batch size of F.1.2 is taken to say how many are computed together",
}
"""What the source leaves open about every error experiment, and what is taken unless a table says otherwise."""
Report = Callable[[int], None]


def quiet(count: int) -> None:
    """Report nothing."""


def generator(setting: Setting) -> torch.Generator:
    """Random numbers of one experiment, on the device."""
    return torch.Generator(setting.device).manual_seed(setting.seed)


def counts(setting: Setting, inputs: int, elements: int) -> tuple[int, int]:
    """Inputs and elements: the source's 1,000 and 100, or the reduced ones given."""
    return (PAPER_INPUTS, PAPER_ELEMENTS) if setting.paper else (inputs, elements)


@dataclass(frozen=True)
class Subject:
    """A layer, inputs (N, n, d), and what else the layer has."""

    sizes: Sizes
    layer: Layer
    inputs: Tensor
    form: Form = PLAIN
    biases: Biases | None = None

    def errors(self, changed: Iterable[Layer], report: Report = quiet) -> Tensor:
        """(88) for every changed layer on every input, (E, N); biases as they are."""
        return self._errors((pack(layer, self.biases) for layer in changed), report)

    def under(self, elements: Elements, *, wrong_inverse: bool = False, report: Report = quiet) -> Tensor:
        """(88) under every element, (E, N); biases move along. wrong_inverse: A⁻¹ for A⁻ᵀ, a control."""

        def changed(element: Elements) -> Packed:
            biases = None if self.biases is None else act_on_biases(self.biases, element)
            return pack(act(self.layer, element, wrong_inverse=wrong_inverse), biases)

        return self._errors((changed(element) for element in elements.each()), report)

    def _errors(self, changed: Iterable[Packed], report: Report) -> Tensor:
        plain = pack(self.layer, self.biases)
        with torch.no_grad():
            return relative_errors(plain, changed, self.inputs, self.sizes, form=self.form, done=report)


def subject(
    sizes: Sizes,
    inputs: int,
    generator: torch.Generator,
    *,
    tokens: int = TOKENS,
    spread: float | None = None,
    form: Form = PLAIN,
    biased: bool = False,
) -> Subject:
    """Draw one. spread: standard deviation of weights and biases, 1/√d if None."""
    spread = sizes.d_model**-0.5 if spread is None else spread
    device = generator.device
    layer = draw(sizes, generator, spread, device)
    x = normal(generator, inputs, tokens, sizes.d_model, device=device)
    biases = _biases(sizes, spread, generator) if biased else None
    return Subject(sizes, layer, x, form, biases)


def _biases(sizes: Sizes, spread: float, generator: torch.Generator) -> Biases:
    h, d_k, d_v, d = sizes
    shapes = ((h, d_k), (h, d_k), (h, d_v), (d,))
    return Biases(*(spread * normal(generator, *shape, device=generator.device) for shape in shapes))


def rotary_form(d_k: int) -> Form:
    """RoPE with the usual frequencies 10000^(−2j/d_k)."""
    return Form(angles=10000.0 ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k))


def logit_deviation(subject: Subject, sample: int = 4) -> float:
    """Standard deviation of the scores before softmax, within rows, on a few inputs."""
    x = subject.inputs[:sample].unsqueeze(1)
    scores = (x @ subject.layer.query) @ (x @ subject.layer.key).mT / subject.sizes.d_k**0.5
    return float(scores.std(-1).mean())
