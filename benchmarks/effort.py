"""How much work a run does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """The sizes of the inputs and the numbers of repetitions.

    Attributes:
        layers: Layers of the transformer step; its text has about 54 KB for each.
        propagated_layers: The same for the dump after Shardy's propagation (160 KB each); 0 leaves it out.
        rounds: How often the timed tasks of one process take turns.
        inputs: Distinct shardings of one round, at most.
        calls: Repeated calls of one round.
        processes: How often the fresh processes take turns.
        mesh_bits: The explicit mesh has two to this power devices; even.
        hlo_size: Characters of HLO text.
    """

    layers: int
    propagated_layers: int
    rounds: int
    inputs: int
    calls: int
    processes: int
    mesh_bits: int
    hlo_size: int


FULL = Effort(
    layers=200,
    propagated_layers=64,
    rounds=9,
    inputs=1500,
    calls=100_000,
    processes=5,
    mesh_bits=20,
    hlo_size=100_000_000,
)
QUICK = Effort(
    layers=20,
    propagated_layers=0,
    rounds=5,
    inputs=500,
    calls=20_000,
    processes=2,
    mesh_bits=16,
    hlo_size=4_000_000,
)
