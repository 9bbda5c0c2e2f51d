"""What the checks of several sources use."""
