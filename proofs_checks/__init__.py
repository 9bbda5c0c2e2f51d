"""The theorem checks: a folder per source, a file per theme. Run them with `symgauge verify`, or with pytest."""
