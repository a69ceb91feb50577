"""The real XLA, inside jaxlib, as the judge of our conversions."""
