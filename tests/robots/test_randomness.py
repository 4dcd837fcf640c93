"""Coloured noise is what it claims to be, and its generator is resumed exactly."""

import numpy as np
import pytest

from robots import RobotError
from robots.randomness import WORDS, ColouredNoise, pack_generator, unpack_generator


def test_noise_is_coloured_and_bounded() -> None:
    amplitude, rate, n, sensors = 0.05, 0.1, 4000, 4
    source = ColouredNoise(sensors, amplitude, rate)
    source.start(np.random.default_rng(9))
    noise = np.array([source.step().copy() for _ in range(n)])[100:]
    assert np.abs(noise).max() <= amplitude / np.sqrt(rate) + 1e-6
    # 4,000 samples that forget in 10 steps are 400 independent ones for each of the sensors, which are
    # averaged: the standard deviation is known to 1 / sqrt(2 * 400 * 4) < 2.1 %.
    assert noise.std(axis=0).mean() == pytest.approx(amplitude / np.sqrt(3 * (2 - rate)), rel=0.06)
    lagged = np.mean(noise[1:] * noise[:-1]) / np.mean(noise**2)
    assert lagged == pytest.approx(1 - rate, abs=0.02)


def test_generators_are_resumed_exactly() -> None:
    generator = np.random.default_rng(5)
    generator.integers(0, 10, 3, dtype=np.int32)  # an odd number of half draws leaves a spare one
    words = pack_generator(generator)
    assert words.dtype == np.uint64 and words.shape == (WORDS,) and words[4] == 1
    twin = unpack_generator(words)
    for draw in (lambda g: g.integers(0, 10, 5, dtype=np.int32), lambda g: g.random(5)):
        assert np.array_equal(draw(twin), draw(generator))
    with pytest.raises(RobotError, match="MT19937"):
        pack_generator(np.random.Generator(np.random.MT19937(0)))


@pytest.mark.parametrize("before", [0, 1, 255, 256, 3 * 256 + 7])  # blocks are of 256
def test_noise_drawn_in_blocks_is_that_of_single_draws(before: int) -> None:
    amplitude, rate, n = 0.05, 0.3, 5
    noise, generator = ColouredNoise(n, amplitude, rate), np.random.default_rng(3)
    noise.start(np.random.default_rng(3))
    expected = np.zeros(n)
    for _ in range(before):
        noise.step()
        expected = (1 - rate) * expected + amplitude * np.sqrt(rate) * generator.uniform(-1, 1, n)
    assert noise.value == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(noise.words(), pack_generator(generator))
    resumed = ColouredNoise(n, amplitude, rate)
    resumed.start(unpack_generator(noise.words()), noise.value)
    for _ in range(ColouredNoise.BLOCK + 3):
        assert np.array_equal(noise.step(), resumed.step())
