"""What was found and not known: symmetries of modules that nobody described, and the modules."""
