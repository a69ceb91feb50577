"""HLO as text."""

from sdybridge.modules.hlo_text.program import HloText as HloText
