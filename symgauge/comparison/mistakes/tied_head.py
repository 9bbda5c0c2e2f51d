"""The final norm's gain folded into a table that is embedding and head at once, so that the embedding has it too."""

from symgauge.comparison.difference import Diagnosis
from symgauge.comparison.scene import Scene


def recognise(scene: Scene) -> Diagnosis | None:
    a, b = scene.judge.a, scene.judge.b
    norm = a.graph.final_norm
    if scene.role != "token_table" or not b.model.architecture.tied or norm is None:
        return None
    gain, table = a.read(norm.gain), scene.own.roles[scene.role]
    for predicted in (table * gain, table / gain):
        if scene.explains(predicted @ scene.stream):
            return Diagnosis(
                "the final norm's gain was folded into a tied table, so that the embedding is multiplied by it as "
                "well; untie the head first"
            )
    return None
