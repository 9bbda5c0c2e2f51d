"""What one can do with the gauge group of attention: act, fix the gauge, project updates, align, compare."""

from symgauge.algorithms.alignment import Alignment, align, match_heads
from symgauge.algorithms.canonical import Canonical, canonicalize
from symgauge.algorithms.element import GaugeElement, group_dimension, identity_element, random_element
from symgauge.algorithms.equivalence import Equivalence, equivalent
from symgauge.algorithms.errors import IllConditioned, NonGeneric
from symgauge.algorithms.gradient import Projection, project_gradient
from symgauge.algorithms.invariants import head_distances, head_sizes, relative_change
from symgauge.algorithms.models import (
    align_model,
    attention_layers,
    canonicalize_model,
    equivalent_layers,
    feed_forward_layers,
    with_layers,
)
from symgauge.algorithms.neurons import FeedForwardParameters, NeuronAlignment, align_neurons
from symgauge.algorithms.parameters import AttentionParameters, random_attention
from symgauge.algorithms.storage import Compressed, compress, expand
from symgauge.algorithms.transform import apply

__all__ = [
    "Alignment",
    "AttentionParameters",
    "Canonical",
    "Compressed",
    "Equivalence",
    "FeedForwardParameters",
    "GaugeElement",
    "IllConditioned",
    "NeuronAlignment",
    "NonGeneric",
    "Projection",
    "align",
    "align_model",
    "align_neurons",
    "apply",
    "attention_layers",
    "canonicalize",
    "canonicalize_model",
    "compress",
    "equivalent",
    "equivalent_layers",
    "expand",
    "feed_forward_layers",
    "group_dimension",
    "head_distances",
    "head_sizes",
    "identity_element",
    "match_heads",
    "project_gradient",
    "random_attention",
    "random_element",
    "relative_change",
    "with_layers",
]
