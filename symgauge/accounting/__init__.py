"""What explains the kernel: the nullity split into symmetry families, and the directions nobody has named.

Every generator is differentiated from its family's finite action in exact arithmetic and must annihilate every row of
the Jacobian; what the generators do not span is *unexplained*. Zero unexplained is what "maximal" means here. Where no
architecture is known the kernel explains itself: by the smallest sets of tensors that can move while all others rest.
"""

from symgauge.accounting.account import Account
from symgauge.accounting.explaining import account
from symgauge.accounting.share import FamilyShare

__all__ = ["Account", "FamilyShare", "account"]
