"""`python -m sdybridge` is the `sdybridge` command."""

from __future__ import annotations

from sdybridge.cli import main

main()
