"""One file per symmetry family, or per few that are told together; :mod:`symgauge.symmetries.catalogue` finds them."""
