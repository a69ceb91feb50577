"""Verification of whole programs in MLIR text."""
