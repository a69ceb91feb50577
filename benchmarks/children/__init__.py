"""What the benchmarks run in fresh processes: each module does one thing once.

`python -m benchmarks.children.NAME FILE` prints the figures as a line of JSON.
"""
