"""Pages beside the index and the sources' own. A file x.py here is the page x.md: it has TITLE, one line of text, and
`page(ledger) -> str`, Markdown that depends on nothing but its argument and the code."""
