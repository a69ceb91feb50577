"""Whole programs: MLIR and HLO text and protos; find what carries shardings, verify and convert it."""
