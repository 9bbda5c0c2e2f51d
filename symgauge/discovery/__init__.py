"""The symmetries of a module that nobody described, found from the exact engine alone."""
