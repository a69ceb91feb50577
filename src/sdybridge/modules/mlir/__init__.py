"""MLIR text, read: its tokens, operations, regions, dictionaries and attributes, nothing judged."""
