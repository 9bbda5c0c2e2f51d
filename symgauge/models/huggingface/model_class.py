"""The ``transformers`` configuration and class that a ``config.json`` asks for."""

from __future__ import annotations

import contextlib
import difflib
import importlib
from collections.abc import Iterator
from typing import Any

from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.models.huggingface.config_file import one_line, quoted
from symgauge.zoo import family_of, model_types
from symgauge.zoo.parts.family import Config


def import_transformers() -> Any:
    """The library; raises :class:`UnsupportedModel` where it is not installed."""
    try:
        import transformers
        from transformers import CONFIG_MAPPING  # noqa: F401  (missing where an old version is installed)
    except ImportError as error:
        raise UnsupportedModel("Hugging Face models need transformers: pip install 'symgauge[transformers]'") from error
    transformers.logging.set_verbosity_error()
    return transformers


def near(name: str, known: Any) -> str:
    """The question whether a known name was meant, for a typo of one; else nothing."""
    close = difflib.get_close_matches(name[:60].lower(), sorted(set(known)), n=3, cutoff=0.75)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def make_config(fields: dict[str, Any]) -> Config:
    """A configuration object from the fields of a file; no code of the file's folder is run.

    Raises :class:`UnsupportedModel` for model types that ``transformers`` does not have, and :class:`InvalidInput`
    for fields that its class rejects.
    """
    model_type = fields.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise InvalidInput("the configuration names no 'model_type'; is it the config.json of a transformers model?")
    library = import_transformers()
    mapping = library.CONFIG_MAPPING
    if model_type not in mapping:
        if fields.get("auto_map"):
            raise UnsupportedModel(
                f"model_type {quoted(model_type)} is defined by code beside the configuration (auto_map), which is "
                "never run; import that code in a file of yours and measure file.py:factory"
            )
        raise UnsupportedModel(
            f"model_type {quoted(model_type)} is not one of the {len(list(mapping))} that transformers "
            f"{library.__version__} has{near(model_type, mapping)}"
        )
    kept = {name: value for name, value in fields.items() if name not in ("model_type", "auto_map")}
    try:
        return mapping[model_type](**kept)
    except Exception as error:  # the classes raise many kinds of errors on bad fields
        raise InvalidInput(f"{model_type}: transformers rejects this configuration: {one_line(error)}") from error


def choose_class(config: Config, named: Any) -> tuple[type[Any], Config, str]:
    """The model class that ``architectures`` (``named``) asks for, or a usual one; the configuration it takes (a part
    of the given one where the class is that of a part); and a note where it was a choice."""
    library, model_type = import_transformers(), config.model_type
    names = [n for n in named if isinstance(n, str)] if isinstance(named, list) else []
    for name in names:
        found = getattr(library, name, None) if name.isidentifier() else None
        if isinstance(found, type) and issubclass(found, library.PreTrainedModel):
            part = _part_for(found, config)
            if part is None:
                raise InvalidInput(
                    f"'architectures' names {name}, which is no model of type {model_type}; correct one of the two"
                )
            return found, part, ""
    reason = f"'architectures' names {quoted(names[0])}, which transformers does not have" if names else ""
    for made, why in _usual(library, config):
        part = _part_for(made, config)
        if part is not None:
            return made, part, f"{reason or 'the configuration names no class'}, so {made.__name__} is taken ({why})"
    raise UnsupportedModel(f"{model_type}: transformers has no model class for this configuration")


def _part_for(made: Any, config: Config) -> Config | None:
    """The configuration, or the part of it that describes its text, whichever the class takes."""
    if made.config_class is None or isinstance(config, made.config_class):
        return config
    text = config.get_text_config()
    return text if isinstance(text, made.config_class) else None


_HEADS = ("AutoModelForMaskedLM", "AutoModelForCausalLM")
_BARE = ("AutoModel", "AutoBackbone", "AutoModelForCTC", "AutoModelForImageClassification", "AutoModelForPreTraining")


def _usual(library: Any, config: Config) -> Iterator[tuple[type[Any], str]]:
    """Classes with the head that a model type is known for; then its bare encoder or backbone."""
    if config.model_type in model_types():
        yield getattr(library, family_of(config.model_type).class_name), "the one with its language-model head"
    seq2seq = ("AutoModelForSeq2SeqLM", "AutoModelForSpeechSeq2Seq") if config.is_encoder_decoder else ()
    heads = _HEADS[::-1] if getattr(config, "is_decoder", False) else _HEADS
    rest = sorted(n for n in dir(library) if n.startswith("AutoModelFor"))
    for name in (*seq2seq, *heads, *_BARE, *rest):
        mapping = getattr(getattr(library, name), "_model_mapping", {})
        if type(config) in mapping:
            with contextlib.suppress(ValueError, ImportError):  # listed, and not there
                found = mapping[type(config)]
                yield (found[0] if isinstance(found, (tuple, list)) else found), f"as {name} does"
    for found in _declared(library, config):
        yield found, "the first that takes it"


def _declared(library: Any, config: Config) -> list[type[Any]]:
    """Model classes beside the configuration's own class, which no Auto class lists: parts of larger models."""
    try:
        module = importlib.import_module(type(config).__module__.replace(".configuration_", ".modeling_"))
    except ImportError:
        return []
    return [
        value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, library.PreTrainedModel)
        and getattr(value, "config_class", None) is type(config) and not name.endswith("PreTrainedModel")
    ]  # fmt: skip
