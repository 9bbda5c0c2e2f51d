"""Pages beside the index and the sources' own.

A file x_y.py here is the page x-y.md: it has TITLE, one line of text, and `page(ledger) -> str`, Markdown that depends
on nothing but its argument, the code and the data in the package. A page with figures also has
`figures() -> dict[str, bytes]`, PNG by path relative to the page. With SOURCE, the name of a source, the page is
written only beside claims of that source.
"""
