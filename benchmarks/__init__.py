"""sdybridge measured beside jaxlib and JAX, in one run: `python -m benchmarks --help`."""
