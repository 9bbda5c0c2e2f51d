"""The Lie algebra and the group, exactly: what several sources' checks compute with."""
