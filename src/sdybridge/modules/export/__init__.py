"""Export of whole programs: Shardy shardings become HLO shardings."""
