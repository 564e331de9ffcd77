"""Whole fits: what they promise of rows, bits, limits and the optimum they find."""

from __future__ import annotations

import numpy as np
import pytest

from emscoreset.kernels import NativeKernel, native
from emscoreset.search.drive import Settings, fit
from emscoreset.search.seeding import SEED_ROWS
from emscoreset.sources.array import ArraySource
from emscoreset.sources.sampler import DrawSource

N = 5 * SEED_ROWS // 2
X = np.random.default_rng(0).normal(size=(N, 3))
FEW = X[:3000]
DRIVEN = ["auto", "best"]


def found(kernel, X, a=None, seed=0, callback=None, **settings):
    source = ArraySource(X, a, kernel=kernel)
    return fit(source, Settings(**settings), np.random.default_rng(seed), callback)


@pytest.mark.parametrize("reg", [0.0, 0.5])
def test_better_than_plain_descent_from_the_same_starts(kernel, reg: float):
    few = FEW[:1000]
    totals = dict.fromkeys(["plain", *DRIVEN], 0.0)
    for seed in range(5):
        start = np.random.default_rng(seed).choice(few, 20, replace=False)
        for algorithm in totals:
            out = found(
                kernel, few, seed=seed, n_atoms=20, reg=reg, init=start, algorithm=algorithm
            )
            assert out.converged
            totals[algorithm] += out.distance.value
    assert totals["best"] <= 1.0005 * totals["auto"]
    assert totals["auto"] <= 1.0005 * totals["plain"]


@pytest.mark.parametrize("algorithm", DRIVEN)
def test_history_tells_which_passes_read_a_sample_and_which_were_kept(kernel, algorithm: str):
    out = found(kernel, X, n_atoms=5, reg=0.1, algorithm=algorithm, max_iter=90, tol=1e-4)
    read = [record.rows for record in out.history]
    assert read[-1] == N  # the distance is that of all rows
    if algorithm == "auto":
        assert read == sorted(read)
        assert 0.9 * SEED_ROWS < read[0] <= SEED_ROWS
    assert not out.history[0].kept  # it had more atoms than were asked for
    assert len(out.history) == out.n_iter + 1
    assert out.weights.sum() == pytest.approx(1.0)
    for rows in set(read):
        kept = [r.objective for r in out.history if r.kept and r.rows == rows]
        assert all(np.diff(kept) <= 1e-6 * abs(out.history[0].objective))


@pytest.mark.skipif(not native.available(), reason="the C++ kernel was not built")
@pytest.mark.parametrize("algorithm", DRIVEN)
def test_the_same_bits_for_any_number_of_threads(algorithm: str):
    one, three = (
        found(NativeKernel(t), X.astype(np.float32), n_atoms=5, reg=0.1, algorithm=algorithm)
        for t in (1, 3)
    )
    np.testing.assert_array_equal(one.atoms, three.atoms)
    np.testing.assert_array_equal(one.weights, three.weights)
    assert one.distance == three.distance


@pytest.mark.parametrize("algorithm", ["plain", *DRIVEN])
def test_weights_are_repeated_rows_in_any_order(kernel, algorithm: str):
    how = {"n_atoms": 10, "reg": 0.1, "algorithm": algorithm}
    rng = np.random.default_rng(1)
    few = FEW[:300]
    a = rng.integers(0, 4, size=300)
    weighted = found(kernel, few, a, **how)
    repeated = rng.permutation(np.repeat(few, a, axis=0))
    other = found(kernel, repeated, **how)
    np.testing.assert_allclose(other.atoms, weighted.atoms, rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.weights, weighted.weights, rtol=0, atol=1e-9)


@pytest.mark.parametrize("max_iter", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("algorithm", DRIVEN)
def test_max_iter_bounds_all_passes_and_the_last_reads_all_rows(kernel, algorithm, max_iter):
    for rows in (X, FEW):
        out = found(kernel, rows, n_atoms=5, reg=0.1, algorithm=algorithm, max_iter=max_iter)
        assert out.n_iter <= max_iter
        assert out.history[-1].rows == len(rows)
        assert out.converged == (out.n_iter < max_iter)


@pytest.mark.parametrize("algorithm", DRIVEN)
def test_few_passes_are_spent_on_the_descent(kernel, algorithm: str):
    how = {"n_atoms": 20, "reg": 0.0, "max_iter": 12}
    plain = found(kernel, FEW, algorithm="plain", **how)
    driven = found(kernel, FEW, algorithm=algorithm, **how)
    assert driven.distance.value <= 1.01 * plain.distance.value


@pytest.mark.parametrize("rows", [X, FEW], ids=["sampled", "whole"])
@pytest.mark.parametrize("algorithm", DRIVEN)
def test_a_true_answer_of_the_callback_ends_the_descent(kernel, rows, algorithm: str):
    seen = []

    def stop(record, state):
        seen.append((record, state))
        return len(seen) >= 4

    out = found(kernel, rows, n_atoms=5, reg=0.1, algorithm=algorithm, callback=stop)
    assert [record for record, _ in seen] == list(out.history)
    assert {len(state.w) for _, state in seen} == {5}
    assert len(seen) == 5  # one more pass, over all rows and at the atoms returned
    assert out.history[-1].rows == len(rows)
    assert not out.converged


def test_draws_that_are_new_in_every_pass_come_to_an_end(kernel):
    source = DrawSource(lambda m, rng: rng.normal(size=(m, 1)), kernel=kernel, seed=0)
    out = fit(source, Settings(n_atoms=2, reg=0.0), np.random.default_rng(0))
    assert out.converged
    # The best two atoms of the normal distribution: +-sqrt(2 / pi), at a distance of 1 - 2 / pi.
    np.testing.assert_allclose(np.sort(out.atoms.ravel()), [-0.798, 0.798], atol=0.02)
    assert out.distance.value == pytest.approx(1 - 2 / np.pi, abs=0.01)


def test_an_unknown_algorithm_is_refused(kernel):
    with pytest.raises(ValueError, match=r"algorithm must be one of .*plain.*auto.*best.*'fast'"):
        found(kernel, FEW, n_atoms=3, algorithm="fast")
