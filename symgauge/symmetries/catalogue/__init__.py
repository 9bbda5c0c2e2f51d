"""One file per symmetry family, or per few told together; :mod:`symgauge.symmetries.finding` finds them."""
