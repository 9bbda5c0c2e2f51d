"""The experiments of the idealized paper (sections 4 to 7), each with the controls that its conclusions need."""
