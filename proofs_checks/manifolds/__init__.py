"""The claims of arXiv 2602.10496, version 2, on execution manifolds.

Places are those of the text (paper.tex, commit 0bdb601 of the author's repository); "code" is the author's, there too.
"""
