"""How results look in a terminal: tables of rich, imported when something is printed."""
