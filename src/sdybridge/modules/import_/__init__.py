"""Import of whole programs: HLO shardings become Shardy shardings."""
