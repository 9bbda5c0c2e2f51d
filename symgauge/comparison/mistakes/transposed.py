"""A square matrix stored the other way round."""

from symgauge.comparison.scene import Diagnosis, Scene


def recognise(scene: Scene) -> Diagnosis | None:
    if scene.piece is None or not scene.role.endswith(".weight"):
        return None
    side = scene.judge.a
    source = side.source(scene.role)
    if source is None:
        return None
    matrix = side.model.checkpoint.shape(side.model.name_of(source))
    if len(matrix) != 2 or matrix[0] != matrix[1]:
        return None
    raw = side.read(scene.role)
    joined = (
        raw.transpose(0, 1).reshape(matrix) if raw.dim() == 3 and ".output." not in scene.role else raw.reshape(matrix)
    )
    turned = joined.mT
    back = (
        turned.reshape(raw.shape[1], raw.shape[0], -1).transpose(0, 1)
        if raw.dim() == 3 and ".output." not in scene.role
        else turned.reshape(raw.shape)
    )
    if scene.piece.norm is not None and scene.role in [m.weight for m in scene.piece.readers]:
        back = scene.judge.b.read(scene.piece.norm.gain).unsqueeze(-1) * back
    return Diagnosis("the matrix is stored transposed") if scene.explains(back) else None
