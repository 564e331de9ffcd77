"""ArraySource: every layout and type gives the float64 answer; bad input is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from emscoreset.kernels import ReferenceKernel
from emscoreset.sources.array import ArraySource, checked_masses
from emscoreset.stats import Pass, Rows, Stats, Want

BASE = np.random.default_rng(0).integers(0, 100, size=(257, 6))


def layouts(tmp_path) -> dict[str, np.ndarray]:
    f = BASE.astype(np.float64)
    wide = np.zeros((514, 12))
    wide[::2, ::2] = f
    locked = f.copy()
    locked.flags.writeable = False
    np.save(tmp_path / "x.npy", f)
    offset = np.frombuffer(b"\0" + f.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    return {
        "C": f,
        "Fortran": np.asfortranarray(f),
        "strided": wide[::2, ::2],
        "reversed": f[::-1][::-1],
        "negative stride": f[::-1].copy()[::-1],
        "read-only": locked,
        "memmap": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "unaligned": offset.reshape(f.shape),
        "big-endian": f.astype(">f8"),
        "float32": f.astype(np.float32),
        "float16": f.astype(np.float16),
        **{t: BASE.astype(t) for t in ("int8", "uint8", "int16", "int32", "int64", "uint64")},
    }


def run(source: ArraySource, reg: float = 30.0) -> Stats:
    Y = BASE[:9] - source.center
    want = Want.MOMENTS | Want.REMOVAL
    return source.run(Pass(Y, np.zeros(9), reg, source.center, want))


def assert_same(a: Stats, b: Stats, rtol: float = 1e-9) -> None:
    assert (a.n, a.mass) == (b.n, pytest.approx(b.mass))
    for name in ("N", "S", "Q", "R", "L", "L0"):
        x, y = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * np.abs(y).max(), err_msg=name)


def test_every_layout_and_type_gives_the_same_sums(tmp_path, kernel):
    expected = run(ArraySource(BASE.astype(np.float64), kernel=kernel))
    for name, X in layouts(tmp_path).items():
        found = run(ArraySource(X, kernel=kernel))
        # float32 rows are centred at the mean rounded to float32
        assert_same(found, expected, rtol=1e-4 if X.dtype.itemsize <= 4 else 1e-9), name


def test_booleans_are_zeros_and_ones(kernel):
    X = BASE > 50
    a = ArraySource(X, kernel=kernel).moments
    np.testing.assert_allclose(a.mean, X.mean(axis=0))


@pytest.mark.parametrize("block_bytes", [1, 3000, 10**9])
@pytest.mark.parametrize("weighted", [False, True])
def test_block_size_changes_rounding_only(block_bytes, weighted):
    kernel = ReferenceKernel()
    a = np.random.default_rng(1).random(len(BASE)) if weighted else None
    expected = run(ArraySource(BASE, a, kernel=kernel))
    assert_same(run(ArraySource(BASE, a, kernel=kernel, block_bytes=block_bytes)), expected)


def test_moments_are_numpys():
    X = np.random.default_rng(2).normal(size=(1000, 5)) * [1, 2, 3, 4, 5] + 1e5
    a = np.random.default_rng(3).random(1000)
    m = ArraySource(X, a * 1e200, kernel=ReferenceKernel()).moments
    mean = np.average(X, axis=0, weights=a)
    np.testing.assert_allclose(m.mean, mean, rtol=1e-14)
    variance = np.average(np.square(X - mean).sum(axis=1), weights=a)
    assert m.variance == pytest.approx(variance, rel=1e-11)
    assert m.mass == pytest.approx(a.sum() * 1e200)
    assert m.n == 1000


def test_the_memory_map_is_never_read_whole(tmp_path, kernel):
    np.save(tmp_path / "x.npy", BASE)
    source = ArraySource(np.load(tmp_path / "x.npy", mmap_mode="r"), kernel=kernel)
    assert isinstance(source.X, np.memmap)


class TestSample:
    def test_all_rows_where_they_fit(self, kernel):
        rows = ArraySource(BASE, kernel=kernel).sample(257, np.random.default_rng(0))
        np.testing.assert_array_equal(rows.X, BASE)
        assert rows.mass is None

    def test_zero_weights_are_left_out(self, kernel):
        a = np.arange(257.0) % 2
        rows = ArraySource(BASE, a, kernel=kernel).sample(128, np.random.default_rng(0))
        np.testing.assert_array_equal(rows.X, BASE[1::2])

    @pytest.mark.parametrize("weighted", [False, True])
    def test_drawn_by_mass(self, kernel, weighted):
        n, m = 5000, 400
        X = np.arange(n)[:, None]
        a = np.where(np.arange(n) < 10, 1000.0, 1.0) if weighted else np.ones(n)
        source = ArraySource(X, a if weighted else None, kernel=kernel)
        hits = np.zeros(n)
        rng = np.random.default_rng(0)
        for _ in range(200):
            rows = source.sample(m, rng)
            assert rows.masses().sum() == m
            hits[rows.X[:, 0].astype(int)] += rows.masses()
        expected = 200 * m * a / a.sum()
        heavy = a > 1
        np.testing.assert_allclose(hits[heavy], expected[heavy], rtol=0.05)
        assert hits[~heavy].sum() == pytest.approx(expected[~heavy].sum(), rel=0.02)

    def test_never_a_row_of_weight_zero(self, kernel):
        a = np.zeros(5000)
        a[4000:4500] = 1.0
        source = ArraySource(np.arange(5000)[:, None], a, kernel=kernel)
        rows = source.sample(100, np.random.default_rng(0))
        assert rows.X.min() >= 4000
        assert rows.X.max() < 4500


class TestErrors:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([["a"]], "real numbers"),
            ([[1j]], "real numbers"),
            ([1.0, 2.0], "2-d"),
            (np.zeros((2, 2, 2)), "2-d"),
            (np.zeros((0, 3)), "at least one row"),
            (np.zeros((3, 0)), "one column"),
        ],
    )
    def test_shape_and_type(self, kernel, X, message):
        with pytest.raises(ValueError, match=message):
            ArraySource(X, kernel=kernel)

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            ([1.0], "one per row"),
            ([1.0, np.nan, 1.0], "1 of 3 are NaN or infinite, the first at row 1"),
            ([1.0, 1.0, -2.0], "negative, the first at row 2"),
            ([0.0, 0.0, 0.0], "at least one must be positive"),
        ],
    )
    def test_weights(self, weight, message):
        with pytest.raises(ValueError, match=message):
            checked_masses(weight, 3)

    def test_nan_names_columns_and_counts_rows(self, kernel):
        X = BASE.astype(float)
        X[3, 1] = np.nan
        X[3, 4] = np.inf
        X[9, 4] = np.nan
        with pytest.raises(
            ValueError, match=r"2 row\(s\); columns \(how often\): 1 \(1\), 4 \(2\)"
        ):
            _ = ArraySource(X, kernel=kernel).moments

    def test_nan_in_the_first_row(self, kernel):
        X = BASE.astype(float)
        X[0] = np.nan
        with pytest.raises(ValueError, match=r"1 row\(s\)"):
            _ = ArraySource(X, kernel=kernel).moments

    def test_overflow_is_named(self, kernel):
        with pytest.raises(ValueError, match="overflow"), np.errstate(over="ignore"):
            _ = ArraySource([[1e200], [-1e200]], kernel=kernel).moments


def test_stats_add_and_scale():
    kernel = ReferenceKernel()
    p = Pass(BASE[:4].astype(float), np.zeros(4), 5.0, np.zeros(6))
    parts = [kernel.stats(Rows(BASE[i : i + 100]), p) for i in (0, 100, 200)]
    whole = kernel.stats(Rows(BASE), p)
    total = parts[0] + parts[1] + parts[2]
    np.testing.assert_allclose(total.N, whole.N)
    assert total.times(2.0).mass == 2 * 257
    assert total.per_mass().N.sum() == pytest.approx(1.0)
    masses = kernel.stats(Rows(BASE), Pass(p.atoms, p.offset, 5.0, p.center, Want.MASSES))
    assert (masses.S, masses.Q, masses.R) == (None, None, None)
    with pytest.raises(ValueError, match="no S"):
        masses.moments()
