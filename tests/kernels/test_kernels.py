"""Every kernel against the slow, obvious answers; the native one at every instruction set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from emscoreset.kernels import Kernel, NativeKernel, ReferenceKernel
from emscoreset.stats import Pass, Rows, Stats, Want, log_offset
from oracles import Problem, costs, problems

REGS = [0.0, 1e-30, 1e-3, 0.1, 1.0, 30.0]
SIZES = [(1, 1, 1), (97, 2, 3), (500, 17, 40), (1000, 3, 7), (700, 50, 131), (403, 101, 16)]
EVERYTHING = Want.MOMENTS | Want.REMOVAL


def masses(rows: Rows) -> np.ndarray:
    return rows.masses()


def scores(X: np.ndarray, p: Pass) -> np.ndarray:
    return p.offset - costs(X - p.center, p.atoms)


def plan(H: np.ndarray, reg: float) -> np.ndarray:
    """T by its definition."""
    if reg == 0:
        return np.eye(H.shape[1])[H.argmax(axis=1)]
    return np.exp(H / reg - logsumexp(H / reg, axis=1, keepdims=True))


def rise(H: np.ndarray, reg: float) -> np.ndarray:
    """By how much each row's share of L rises without each atom, by leaving it out."""

    def level(H: np.ndarray) -> np.ndarray:
        top = H.max(axis=1)
        soft = reg * logsumexp((H - top[:, None]) / reg, axis=1) if reg > 0 else 0.0
        return -(top + soft)

    out = [level(np.delete(H, j, axis=1)) - level(H) for j in range(H.shape[1])]
    return np.stack(out, axis=1)


def direct(rows: Rows, p: Pass) -> Stats:
    """The sums of a pass, term by term in float64."""
    X, a = np.asarray(rows.X, dtype=float), masses(rows)
    H = scores(X, p)
    T, Z = plan(H, p.reg), X - p.center
    L0 = -float(a @ H.max(axis=1))
    L = -p.reg * float(a @ logsumexp(H / p.reg, axis=1)) if p.reg > 0 else L0
    aT = a[:, None] * T
    R = a @ rise(H, p.reg) if H.shape[1] > 1 else np.full(1, np.inf)
    Q = aT.T @ np.square(Z).sum(axis=1)
    return Stats(aT.sum(axis=0), L, L0, float(a.sum()), len(X), aT.T @ Z, Q, R)


def close(got: Stats, want: Stats, tol: float) -> None:
    """All sums agree to ``tol`` of their own size, R to that of L's terms."""
    for name in ("N", "S", "Q", "R", "L", "L0", "mass"):
        a, b = np.asarray(getattr(got, name)), np.asarray(getattr(want, name))
        finite = np.isfinite(b)
        np.testing.assert_array_equal(a[~finite], b[~finite], err_msg=name)
        scale = np.abs(b[finite]).max(initial=1) + (abs(want.L) + abs(want.L0)) * (name == "R")
        np.testing.assert_allclose(a[finite], b[finite], rtol=0, atol=tol * scale, err_msg=name)
    assert got.n == want.n


def gaussian(n: int, d: int, k: int, seed: int = 0) -> tuple[Rows, Pass]:
    """Overlapping clusters away from the origin, with masses and uneven offsets."""
    rng = np.random.default_rng(seed)
    center = rng.normal(size=d) + 3
    Y = rng.normal(size=(k, d))
    X = center + Y[rng.integers(k, size=n)] + 0.5 * rng.normal(size=(n, d))
    p = Pass(Y, log_offset(rng.dirichlet(np.ones(k)), 0.1), 0.0, center, EVERYTHING)
    return Rows(X, rng.random(n)), p


@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sums_in_float64(any_kernel: Kernel, size: tuple[int, int, int], reg: float) -> None:
    rows, p = gaussian(*size)
    p = replace(p, reg=reg)
    close(any_kernel.stats(rows, p), direct(rows, p), 1e-11 if reg != 1e-3 else 1e-10)


@pytest.mark.parametrize("reg", [0.0, 0.05, 1.0, 30.0])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sums_in_float32(
    native_kernel: NativeKernel, size: tuple[int, int, int], reg: float
) -> None:
    rows, p = gaussian(*size)
    p = replace(p, reg=reg)
    rows = Rows(rows.X.astype(np.float32), rows.mass)
    # A logit errs by about eps |x| |y| / reg; a label by itself only where two atoms tie.
    H = scores(rows.X.astype(float), p)
    logit = 1.2e-7 * float(np.abs(H).max()) / reg if reg > 0 else 0.0
    close(native_kernel.stats(rows, p), direct(rows, p), 2e-6 + 2 * logit)


@pytest.mark.parametrize("reg", [0.0, 0.1, 1.0])
def test_masses_alone_are_the_same_masses(any_kernel: Kernel, reg: float) -> None:
    rows, p = gaussian(700, 20, 50)
    p = replace(p, reg=reg)
    alone = any_kernel.stats(rows, replace(p, want=Want.MASSES))
    assert alone.S is None
    assert alone.Q is None
    assert alone.R is None
    full = any_kernel.stats(rows, p)
    np.testing.assert_allclose(alone.N, full.N, rtol=1e-12)
    assert (alone.L, alone.L0) == (full.L, full.L0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_assignment(any_kernel: Kernel, dtype: type) -> None:
    rows, p = gaussian(2000, 12, 70)
    X = rows.X.astype(dtype)
    H = scores(X.astype(float), p)
    got = any_kernel.assign(Rows(X), p)
    np.testing.assert_array_equal(got.labels, H.argmax(axis=1))
    Z = X.astype(float) - p.center - p.atoms[got.labels]
    np.testing.assert_allclose(got.cost, np.square(Z).sum(axis=1), rtol=1e-12)
    first, second = np.sort(H, axis=1)[:, [-1, -2]].T
    atol = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(got.gap, first - second, rtol=0, atol=atol)


@pytest.mark.parametrize("reg", REGS)
def test_plan_rows(any_kernel: Kernel, reg: float) -> None:
    rows, p = gaussian(300, 7, 40)
    got = any_kernel.responsibilities(rows, replace(p, reg=reg))
    np.testing.assert_allclose(got, plan(scores(rows.X, p), reg), atol=1e-10)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problem=problems(), reg=st.sampled_from([0.0, 1e-2, 1.0, 50.0]))
def test_ugly_problems(any_kernel: Kernel, problem: Problem, reg: float) -> None:
    """Ties, duplicates, atoms switched off: the same as the specification, to rounding."""
    center = problem.X.mean(axis=0)
    atoms = problem.Y - center
    p = Pass(atoms, log_offset(problem.w, reg), reg, center, EVERYTHING)
    rows = Rows(problem.X, problem.a)
    got, want = any_kernel.stats(rows, p), ReferenceKernel().stats(rows, p)
    np.testing.assert_allclose(got.L, want.L, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(got.N.sum(), got.mass, rtol=1e-12)
    assert (got.N[problem.w == 0] == 0).all()
    if reg > 0:
        close(got, want, 1e-8)


def test_ties_go_to_the_lowest_index(any_kernel: Kernel) -> None:
    X = np.zeros((5, 3))
    Y = np.ones((70, 3))
    p = Pass(Y, np.zeros(70), 0.0, np.zeros(3))
    assert any_kernel.assign(Rows(X), p).labels.tolist() == [0] * 5
    assert any_kernel.assign(Rows(X), p).gap.tolist() == [0.0] * 5
    N = any_kernel.stats(Rows(X), p).N
    assert N[0] == 5
    off = replace(p, offset=np.where(np.arange(70) < 37, -np.inf, 0.0))
    assert any_kernel.assign(Rows(X), off).labels.tolist() == [37] * 5
    soft = any_kernel.responsibilities(Rows(X), replace(off, reg=1e-25))
    np.testing.assert_allclose(soft, np.tile(np.where(np.arange(70) < 37, 0, 1 / 33), (5, 1)))


def test_equal_atoms_are_told_apart_by_index_alone(native_kernel: NativeKernel) -> None:
    """Every row has two best atoms: each is decided in double, to the lower, with no lead."""
    rows, p = gaussian(1500, 12, 70)
    twice = replace(p, atoms=np.tile(p.atoms, (2, 1)), offset=np.tile(p.offset, 2))
    rows = Rows(rows.X.astype(np.float32))
    H = scores(rows.X.astype(float), p)
    got = native_kernel.assign(rows, twice)
    np.testing.assert_array_equal(got.labels, H.argmax(axis=1))
    np.testing.assert_array_equal(got.gap, 0.0)


@pytest.mark.parametrize("reg", [0.02, 0.2, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_with_few_weights_and_with_many(
    native_kernel: NativeKernel, dtype: type, reg: float
) -> None:
    """Atoms of many coordinates, where even long lists of weights are added one by one."""
    rows, p = gaussian(1200, 150, 90)
    p = replace(p, atoms=p.atoms * 0.2, reg=reg, want=Want.MOMENTS)
    rows = Rows(rows.X.astype(dtype), rows.mass)
    want = direct(Rows(rows.X.astype(float), rows.mass), p)
    got = native_kernel.stats(rows, p)
    tol = 1e-11 if dtype == np.float64 else 2e-6 + 1e-4 / reg
    close(replace(got, R=want.R), want, tol)


@pytest.mark.parametrize("reg", [0.0, 5e-4, 5e-3, 0.02, 0.1, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [(1500, 2, 150), (900, 10, 90)], ids=str)
def test_rows_between_many_atoms(
    native_kernel: NativeKernel, size: tuple[int, int, int], dtype: type, reg: float
) -> None:
    """Without the sums R, which need all weights: lists of few, rows scored twice, all weights."""
    rows, p = gaussian(*size)
    p = replace(p, reg=reg, want=Want.MOMENTS)
    rows = Rows(rows.X.astype(dtype), rows.mass)
    want = direct(Rows(rows.X.astype(float), rows.mass), p)
    got = native_kernel.stats(rows, p)
    tol = 1e-10 if dtype == np.float64 else 2e-6 + (1e-5 / reg if reg > 0 else 0)
    close(replace(got, R=want.R), want, tol)


def test_a_single_atom_has_no_runner_up(any_kernel: Kernel) -> None:
    rows, p = gaussian(30, 4, 1)
    assert np.isinf(any_kernel.assign(rows, p).gap).all()
    lone = Pass(np.zeros((3, 4)), np.array([-np.inf, 0.0, -np.inf]), 0.5, p.center, EVERYTHING)
    assert np.isinf(any_kernel.assign(rows, lone).gap).all()
    stats = any_kernel.stats(rows, lone)
    assert stats.R is not None
    np.testing.assert_array_equal(stats.R, [0.0, np.inf, 0.0])


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_rows_far_from_the_origin(native_kernel: NativeKernel, offset: float) -> None:
    """float32 rows at 1e4 and 1e6: centring leaves no wrong label."""
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(5000, 10)) + offset).astype(np.float32)
    center = X.mean(axis=0, dtype=np.float64)  # not a float32: the kernel splits it
    Y = rng.normal(size=(50, 10))
    p = Pass(Y, np.zeros(50), 0.0, center)
    want = scores(X.astype(float), p).argmax(axis=1)
    np.testing.assert_array_equal(native_kernel.assign(Rows(X), p).labels, want)
    N = native_kernel.stats(Rows(X), p).N
    assert np.abs(N - np.bincount(want, minlength=50)).sum() <= 4  # ties to rounding


def test_a_block_of_few_weights_then_many(native_kernel: NativeKernel) -> None:
    """A chunk whose first rows have one atom each and whose others have all of them."""
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(40, 6))
    X = np.concatenate([Y[rng.integers(40, size=100)] * 50, rng.normal(size=(400, 6)) * 0.1])
    p = Pass(Y, np.zeros(40), 0.5, np.zeros(6), Want.MOMENTS)
    for rows in (Rows(X), Rows(X[::-1].copy())):
        want = direct(rows, p)
        close(replace(native_kernel.stats(rows, p), R=want.R), want, 1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reg", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("wanted", [Want.MOMENTS, EVERYTHING])
def test_the_same_bits_for_any_number_of_threads(
    native_kernel: NativeKernel, dtype: type, reg: float, wanted: Want
) -> None:
    rows, p = gaussian(9000, 5, 30)
    rows = Rows(rows.X.astype(dtype), rows.mass)
    p = replace(p, reg=reg, want=wanted)
    level = native_kernel.level
    one = NativeKernel(1, level).stats(rows, p)
    for threads in (2, 3, 8):
        other = NativeKernel(threads, level).stats(rows, p)
        for name in ("N", "S", "Q", "R", "L", "L0", "mass"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def layouts(X: np.ndarray) -> dict[str, np.ndarray]:
    """The same rows as they may lie in memory."""
    wide = np.zeros((len(X), X.shape[1] + 3), dtype=X.dtype)
    wide[:, 2:-1] = X
    packed = np.zeros(len(X), dtype=np.dtype([("tag", "S1"), ("x", X.dtype, X.shape[1])]))
    packed["x"] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "part of wider rows": wide[:, 2:-1],
        "every other row": np.repeat(X, 2, axis=0)[::2],
        "backwards": X[::-1].copy()[::-1],
        "unaligned": packed["x"],
        "read-only": frozen,
        "column by column": np.asfortranarray(X),
        "big-endian": X.astype(X.dtype.newbyteorder(">")),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", layouts(np.zeros((1, 2))))
def test_layouts(native_kernel: NativeKernel, dtype: type, layout: str) -> None:
    rows, p = gaussian(600, 9, 20)
    p = replace(p, reg=0.1)
    X = rows.X.astype(dtype)
    laid = layouts(X)[layout]
    in_place = layout not in ("column by column", "big-endian")
    assert native_kernel.reads(laid.dtype, laid.strides) == in_place
    plain, other = native_kernel.stats(Rows(X), p), native_kernel.stats(Rows(laid), p)
    np.testing.assert_array_equal(plain.N, other.N)
    np.testing.assert_array_equal(plain.S, other.S)
    seeds = np.random.default_rng(0).random((10, 3))
    np.testing.assert_array_equal(
        native_kernel.plusplus(Rows(X), 3, seeds), native_kernel.plusplus(Rows(laid), 3, seeds)
    )


@pytest.mark.parametrize("trials", [1, 5, 19])
@pytest.mark.parametrize("weighted", [False, True])
def test_seeding_chooses_what_the_specification_chooses(
    native_kernel: NativeKernel, trials: int, weighted: bool
) -> None:
    rng = np.random.default_rng(trials)
    X = rng.normal(size=(3000, 6))
    a = rng.integers(0, 3, size=3000).astype(float) if weighted else None
    draws = rng.random((25, trials))
    want = ReferenceKernel().plusplus(Rows(X, a), 7, draws)
    got = native_kernel.plusplus(Rows(X, a), 7, draws)
    np.testing.assert_array_equal(got, want)
    for threads in (1, 3):
        again = NativeKernel(threads, native_kernel.level).plusplus(Rows(X, a), 7, draws)
        np.testing.assert_array_equal(got, again)


def test_seeding_ends_when_every_row_is_chosen_or_equal(any_kernel: Kernel) -> None:
    X = np.repeat(np.arange(4.0), 5)[:, None] * np.ones(3)
    got = any_kernel.plusplus(Rows(X), 0, np.random.default_rng(0).random((9, 2)))
    assert sorted(X[got, 0]) == [0.0, 1.0, 2.0, 3.0]
    assert any_kernel.plusplus(Rows(X), 2, np.empty((0, 3))).tolist() == [2]
