"""The numbers that statements name: preset -> (parameters, dimension of the generic fibre)."""

from __future__ import annotations

from symgauge.claims import Claim

NUMBERS = {
    "gpt2": (124_439_808, 1_346_584),
    "gpt2-medium": (354_823_168, 3_589_168),
    "gpt2-large": (774_030_080, 6_728_776),
    "gpt2-xl": (1_557_611_200, 11_213_920),
    "bert-base": (109_514_298, 1_332_249),
    "bert-large": (335_174_458, 3_545_649),
    "llama-2-7b": (6_738_415_616, 25_913_344),
    "llama-3-8b": (8_030_261_248, 13_338_624),
    "llama-3-70b": (70_553_706_496, 47_730_688),
    "mistral-7b": (7_241_732_096, 13_338_624),
    "qwen2.5-7b": (7_615_616_512, 9_004_800),
    "qwen3-8b": (8_190_735_360, 13_848_832),
    "gemma-2-9b": (9_241_705_984, 23_009_280),
    "falcon-7b": (6_921_720_704, 1_150_976),
    "gpt-neox-20b": (20_554_567_680, 94_524_972),
    "mixtral-8x7b": (46_702_792_704, 16_680_960),
    "deepseek-v3": (671_026_404_352, 394_076_994),
}


def stated(claim: Claim) -> tuple[int, int]:
    """Parameters and dimension as the statement has them, which has to name both."""
    parameters, dimension = NUMBERS[claim.name]
    for words in (f" has {parameters:,} parameters,", f" dimension {dimension:,}."):
        assert words in claim.statement, f"{claim.id} does not say{words}"
    return parameters, dimension
