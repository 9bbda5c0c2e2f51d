"""The record that says what a transformer is: every hyperparameter that decides which parameter symmetries it has.

One frozen dataclass covers attention layers alone, blocks and whole models; :mod:`symgauge.model_graph` turns it into
named parameter tensors ("roles"), :mod:`symgauge.models` into a torch module, :mod:`symgauge.symmetries` into
dimensions.
"""

from symgauge.architecture.experts import Experts
from symgauge.architecture.latent import Latent
from symgauge.architecture.record import Architecture, distinct
from symgauge.architecture.rotary import Rotary, RotationClass, Turn

__all__ = ["Architecture", "Experts", "Latent", "Rotary", "RotationClass", "Turn", "distinct"]
