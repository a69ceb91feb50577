"""The generator does what the tests that use it rely on."""

from __future__ import annotations

import collections

from tests.differential.random_cases import FEATURES, random_samples

from sdybridge.sdy import MeshAttr, TensorShardingAttr, verify_sharding


def test_every_feature_is_common() -> None:
    counts = collections.Counter(feature for s in random_samples(0, 2000) for feature in s.features)
    assert set(counts) == FEATURES
    rare = {feature: counts[feature] for feature in FEATURES if counts[feature] < 20}
    assert not rare


def test_a_seed_means_the_same_cases() -> None:
    assert random_samples(5, 50) == random_samples(5, 50)
    assert random_samples(5, 50) != random_samples(6, 50)


def test_every_case_is_valid() -> None:
    for sample in random_samples(0, 1000):
        case = sample.case
        sharding = TensorShardingAttr.from_string(case.sharding)
        verify_sharding(sharding, MeshAttr.from_string(case.mesh), manual_axes=case.manual_axes)
