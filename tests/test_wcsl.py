"""WCSL: its gradient against finite differences of POT's loss, its optimum against closed forms."""

from __future__ import annotations

import numpy as np
import ot
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from emscoreset import Coreset, sinkhorn_distance
from emscoreset.baselines import kmeans, wcsl
from emscoreset.baselines.adam import BATCH, Adam, batches, gradient
from emscoreset.baselines.batch import Plan, batch_of, shares
from emscoreset.ems import atom_costs
from emscoreset.kernels import Kernel, get_kernel
from emscoreset.sources.array import ArraySource
from emscoreset.stats import Pass
from emscoreset.transport.offsets import offsets_at
from oracles import costs, entropic

PRESETS = pytest.mark.parametrize("preset", ["paper", "tuned"])
STEP = 1e-5


def clusters(n: int = 600, d: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4.0 * rng.integers(0, 3, size=(n, 1))


def differences(loss, Y: np.ndarray) -> np.ndarray:
    out = np.zeros_like(Y)
    for place in np.ndindex(Y.shape):
        e = np.zeros_like(Y)
        e[place] = STEP
        out[place] = (loss(Y + e) - loss(Y - e)) / (2 * STEP)
    return out


def slope_of(X, a, Y, reg: float, kernel: Kernel) -> np.ndarray:
    plan = batch_of(X, a, Y, kernel).plan(np.zeros(len(Y)), reg)
    assert plan.reached
    return gradient(plan, X, Y)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_the_finite_difference_of_pots_sinkhorn_loss(weighted, monkeypatch):
    monkeypatch.setattr("emscoreset.baselines.batch.RESIDUAL", 1e-8)
    kernel = get_kernel()
    rng = np.random.default_rng(1)
    X, Y, w = rng.normal(size=(40, 3)), rng.normal(size=(5, 3)), np.full(5, 0.2)
    a = rng.dirichlet(np.ones(40)) if weighted else np.full(40, 1 / 40)
    slopes = differences(lambda Z: entropic(a, w, costs(X, Z), 0.5, np.zeros(5)), Y)
    np.testing.assert_allclose(slope_of(X, a, Y, 0.5, kernel), slopes, atol=2e-4)
    assert np.abs(slopes).max() > 0.05
    # The plan without potentials has another gradient.
    lists = batch_of(X, a, Y, kernel).lists
    free = gradient(Plan(np.zeros(5), lists, shares(lists, np.zeros(5), 0.5), 0.0, True), X, Y)
    assert np.abs(free - slopes).max() > 0.05


def test_at_a_small_reg_the_gradient_is_that_of_the_exact_transport_cost(kernel: Kernel):
    rng = np.random.default_rng(2)
    X, Y, w, a = rng.normal(size=(60, 2)), rng.normal(size=(4, 2)), np.full(4, 0.25), np.ones(60)
    a /= a.sum()
    slopes = differences(lambda Z: ot.emd2(a, w, costs(X, Z)), Y)
    np.testing.assert_allclose(slope_of(X, a, Y, 1e-4, kernel), slopes, atol=2e-3)


@pytest.mark.parametrize("eps", [0.05, 2.0])
def test_products_of_matrices_and_lists_give_the_same_sums(kernel: Kernel, eps: float):
    X = clusters()
    a = np.random.default_rng(3).dirichlet(np.ones(len(X)))
    batch, h = batch_of(X, a, X[:7], kernel), np.random.default_rng(4).normal(size=7)
    np.testing.assert_allclose(batch.C, costs(X, X[:7]), atol=1e-9)
    whole, lists = batch.sums(h, eps, True), batch.sums_over(batch.lists)(h, eps, True)
    for name in ("N", "L", "L0", "cost", "H"):
        np.testing.assert_allclose(getattr(whole, name), getattr(lists, name), atol=1e-9)
    h, aT = batch.softly(h, eps)
    np.testing.assert_allclose(aT.sum(axis=0), np.full(7, 1 / 7), atol=1e-3)
    np.testing.assert_allclose(aT.sum(axis=1), a)


@pytest.mark.parametrize("reg", [1e-6, 0.01, 1.0, 100.0])
def test_a_plan_has_the_weights_and_costs_what_pots_does(kernel: Kernel, reg: float):
    """For a batch and for all rows, from prices far off, whatever shares rows or does not."""
    X, rng = clusters(400), np.random.default_rng(5)
    Y, w, a = X[:11] + 0.2, np.full(11, 1 / 11), rng.dirichlet(np.ones(400))
    batch = batch_of(X, a, Y, kernel)
    plan = batch.plan(10.0 * rng.normal(size=11), reg)
    source = ArraySource(X, a, kernel=kernel)
    whole = offsets_at(source, Y - source.center, w, reg, 1e-6)
    p = Pass(Y - source.center, whole.h, reg, source.center)
    stats = source.run(p).per_mass()
    exact = sinkhorn_distance(X, (Y, w), sample_weight=a, reg=reg, tol=1e-6)
    columns = np.bincount(plan.lists.atom, plan.shares)
    for off, reached, N, cost, room in (
        (
            plan.off,
            plan.reached,
            columns,
            plan.shares @ plan.lists.cost,
            2e-3,
        ),
        (whole.off, whole.reached, stats.N, atom_costs(stats, p.atoms).sum(), 1e-5),
    ):
        assert reached
        assert off < room
        np.testing.assert_allclose(N, w, atol=room)
        assert cost == pytest.approx(exact.cost, rel=room)


@PRESETS
def test_potentials_that_were_not_found_are_told(preset: str, monkeypatch):
    module = "batch.MOST" if preset == "paper" else "lloyd.RESIDUAL"
    monkeypatch.setattr(f"emscoreset.baselines.{module}", 1 if preset == "paper" else -1.0)
    with pytest.warns(ConvergenceWarning, match="of the mass on the wrong atoms"):
        wcsl(clusters(500), 7, preset=preset, reg=0.5, max_iter=2, rng=0)


@pytest.mark.parametrize("n", [5, 999, 2600, 6000])
def test_batches_are_a_partition_of_the_mass(n: int):
    rng = np.random.default_rng(n)
    for a in (np.ones(n), rng.integers(0, 4, n).astype(float), rng.pareto(1.0, n)):
        share = a / a.sum()
        parts = list(batches(share, rng))
        assert len(parts) == max(1, round(np.count_nonzero(a) / BATCH))
        total = np.zeros(n)
        for index, mass in parts:
            assert mass.sum() == pytest.approx(1.0)
            np.add.at(total, index, mass / len(parts))
        np.testing.assert_allclose(total, share, rtol=2e-6)
    parts = list(batches(np.full(6000, 1 / 6000), rng))
    assert all((mass == mass[0]).all() for _, mass in parts)
    order = np.concatenate([index for index, _ in parts])
    assert sorted(order) == list(range(6000))
    assert sorted(order[:1000]) != list(range(1000))


def test_adam_takes_the_steps_of_its_definition():
    """By its own recursion, written out: the first step is the rate, whatever the gradient."""
    gradients = [np.array([[3.0, -1e-3]]), np.array([[-1.0, 2.0]])]
    adam = Adam(np.zeros((1, 2)), np.zeros((1, 2)))
    np.testing.assert_allclose(adam.step(gradients[0], 0.1), [[0.1, -0.1]], rtol=1e-4)
    m = 0.9 * 0.1 * gradients[0] + 0.1 * gradients[1]
    v = 0.999 * 0.001 * gradients[0] ** 2 + 0.001 * gradients[1] ** 2
    second = 0.1 * (m / (1 - 0.9**2)) / (np.sqrt(v / (1 - 0.999**2)) + 1e-8)
    np.testing.assert_allclose(adam.step(gradients[1], 0.1), second)


def quantile_means(x: np.ndarray, k: int) -> np.ndarray:
    """The best k atoms of equal weights on the line: means of the k parts in order."""
    return np.sort(x).reshape(k, -1).mean(axis=1)


def check_on_the_line(coreset: Coreset, x: np.ndarray, preset: str) -> None:
    """``x`` are the rows, as often as they weigh. The paper's rule stops Adam near the optimum."""
    parts = np.sort(x).reshape(len(coreset), -1)
    best = np.square(parts - parts.mean(axis=1, keepdims=True)).mean()
    assert coreset.provenance["parameters"]["converged"]
    assert coreset.upper < best * (1.001 if preset == "tuned" else 1.05)
    exact = ot.emd2_1d(x, coreset.atoms[:, 0])
    assert best * (1 - 1e-9) <= exact <= coreset.upper * (1 + 1e-9)
    if preset == "tuned":
        np.testing.assert_allclose(np.sort(coreset.atoms[:, 0]), quantile_means(x, 4), atol=2e-2)


@PRESETS
def test_on_the_line_the_optimum_is_the_means_of_equal_parts(preset: str):
    x = np.random.default_rng(5).normal(size=240)
    check_on_the_line(wcsl(x[:, None], 4, preset=preset, reg=1e-3, rng=0), x, preset)


@PRESETS
def test_weights_of_rows_are_as_many_rows(preset: str):
    rng = np.random.default_rng(6)
    x, a = rng.normal(size=60), rng.integers(0, 4, 60)
    a[0] += -a.sum() % 4
    coreset = wcsl(x[:, None], 4, preset=preset, reg=1e-3, sample_weight=a, rng=0)
    check_on_the_line(coreset, np.repeat(x, a), preset)
    assert coreset.mass == a.sum()


@PRESETS
def test_its_weights_are_equal_and_pots_distance_lies_in_its_bracket(preset: str):
    X = clusters()
    coreset = wcsl(X, 12, preset=preset, max_iter=20, rng=0)
    np.testing.assert_array_equal(coreset.weights, np.full(12, 1 / 12))
    C = costs(X, coreset.atoms)
    a = np.full(len(X), 1 / len(X))
    exact = float(ot.emd2(a, coreset.weights, C))
    assert coreset.lower <= exact * (1 + 1e-9)
    assert exact <= coreset.upper * (1 + 1e-9)
    assert coreset.upper - coreset.lower < 1e-3 * exact
    own = coreset.provenance
    assert own["made_by"] == "baselines.wcsl"
    assert own["parameters"]["preset"] == preset
    assert own["parameters"]["n_iter"] > 0


def test_tuned_is_below_its_rivals_of_equal_weights():
    X = clusters(900, 5)
    tuned = wcsl(X, 8, preset="tuned", rng=0)
    assert tuned.upper < wcsl(X, 8, max_iter=60, rng=0).lower
    assert tuned.upper < kmeans(X, 8, weights="uniform", rng=0).lower


def test_a_seed_is_a_result_and_another_another():
    X = clusters(300)
    first, again, other = (wcsl(X, 5, rng=s, max_iter=5).atoms for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6


@pytest.mark.parametrize("k", [3, 4, 6])
def test_tuned_has_an_answer_where_rows_are_fewer_than_atoms(k: int):
    X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 9.0]], 4, axis=0)
    coreset = wcsl(X, k, preset="tuned", rng=0)
    exact = float(ot.emd2(np.full(12, 1 / 12), coreset.weights, costs(X, coreset.atoms)))
    assert coreset.upper == pytest.approx(exact, abs=1e-3)
    if k != 4:
        assert coreset.upper < 1e-6


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_rows_of_any_type_far_from_the_origin(dtype: str):
    X = (clusters(500) * 4 + 100).astype(dtype)
    there = wcsl(X, 6, preset="tuned", rng=0)
    here = wcsl(X.astype(float) - 100.0, 6, preset="tuned", rng=0)
    assert there.upper == pytest.approx(here.upper, rel=0.02)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"preset": "best"}, 'preset must be "paper" or "tuned", not \'best\''),
        ({"reg": -1.0}, "reg must be a finite number >= 0, not -1.0"),
        ({"reg": 0.0}, "reg must be > 0"),
        ({"reg": "0.1"}, "reg must be a finite number"),
        ({"max_iter": 0}, "max_iter must be a whole number >= 1, not 0"),
        ({"n_atoms": 601}, "n_atoms must be a whole number from 1 to the 600 rows of X, not 601"),
        ({"sample_weight": np.full(600, -1.0)}, "sample_weight must be finite and >= 0"),
        ({"sample_weight": np.eye(600)[0]}, "only 1 have weight > 0"),
    ],
)
def test_wrong_arguments_are_refused_by_name(wrong: dict, message: str):
    with pytest.raises(ValueError, match=message):
        wcsl(clusters(), **{"n_atoms": 3, **wrong})


def test_tuned_is_below_what_adam_finds_on_real_data():
    X = load_diabetes().data
    X = X / X.std(axis=0)
    tuned = wcsl(X, 10, preset="tuned", rng=0)
    assert tuned.upper < wcsl(X, 10, rng=0).lower
    assert tuned.upper < kmeans(X, 10, weights="uniform", rng=0).lower


def test_the_example_runs(run_example):
    out = run_example("baselines.py")
    assert "diabetes, 10 atoms for 442 rows" in out
    last = {line[:30].strip(): float(line.split()[-1]) for line in out.splitlines()[1:]}
    assert min(last, key=last.__getitem__) == "EMS"
    assert last["WCSL, tuned"] < last["k-means, uniform weights"]
