"""The experiments of the gauge paper (sections 5 and 6, appendix F)."""
