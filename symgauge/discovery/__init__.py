"""The continuous and discrete symmetries of a module that nobody described: found, proved at that size, and named."""
