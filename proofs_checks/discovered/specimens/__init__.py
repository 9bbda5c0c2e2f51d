"""Where the search for symmetries is shown: attention variants, models of transformers, and every known family."""
