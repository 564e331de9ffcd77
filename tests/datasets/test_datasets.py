"""Data sets: found, fetched, checked; nothing wrong is ever read or kept."""

from __future__ import annotations

import functools
import gzip
import http.server
import threading
from dataclasses import replace

import numpy as np
import pytest

from emscoreset.datasets import CATALOGUE, DatasetNotFoundError, Form, load, loading
from emscoreset.datasets.readers import digest, read_adult, read_credit, read_idx, read_npz

SHAPES = {
    "mnist": (60000, 784),
    "fashion_mnist": (60000, 784),
    "census": (32561, 12),
    "chemreact100_tenth": (2674, 100),
    "chemreact10": (26733, 10),
    "hiv_fingerprints": (26733, 100),
    "credit_default": (30000, 23),
    "fma_mfcc": (1990, 140),
    "fma_echonest": (7881, 8),
}
ADULT = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, "
    "Male, 2174, 0, 40, Cuba, <=50K\n"
    "50, ?, 83311, Bachelors, 13, Divorced, Exec-managerial, Husband, Black, "
    "Male, 0, 0, 13, ?, >50K\n"
    "\n"
)


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """A machine without any data: no folder, an empty cache."""
    monkeypatch.delenv("EMSCORESET_DATA", raising=False)
    monkeypatch.setenv("EMSCORESET_CACHE", str(tmp_path / "cache"))
    return tmp_path


def idx_bytes(array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return head + array.tobytes()


def write_idx(folder):
    """Two images and one to test, in the four files of MNIST's format."""
    rng = np.random.default_rng(0)
    arrays = {
        "X": rng.integers(0, 256, (2, 3, 3), dtype=np.uint8),
        "y": np.array([7, 1], dtype=np.uint8),
        "X_test": rng.integers(0, 256, (1, 3, 3), dtype=np.uint8),
        "y_test": np.array([2], dtype=np.uint8),
    }
    form = CATALOGUE["mnist"].forms[1]
    folder.mkdir(exist_ok=True)
    for name, array in zip(form.files, arrays.values(), strict=True):
        (folder / name).write_bytes(gzip.compress(idx_bytes(array)))
    return {name: a.reshape(len(a), -1) if a.ndim > 1 else a for name, a in arrays.items()}


@pytest.fixture
def small(monkeypatch, alone):
    """A catalogue entry "small", of four files in ``alone / "public"`` and served from there."""
    arrays = write_idx(alone / "public")
    form = replace(CATALOGUE["mnist"].forms[1], urls=((alone / "public").as_uri() + "/",))
    entry = replace(CATALOGUE["mnist"], forms=(form,), sha256=digest(arrays))
    monkeypatch.setitem(loading.CATALOGUE, "small", entry)
    return arrays


@pytest.mark.parametrize("name", SHAPES)
def test_the_real_data_have_their_checksums(name, data_dir, tmp_path):
    found = load(name, data_dir=data_dir, cache_dir=tmp_path, download=False)
    assert found.X.shape == SHAPES[name]
    assert len(found.feature_names) == found.X.shape[1]
    assert np.isfinite(found.X).all()
    assert found.y is None or found.y.shape == found.X.shape[:1]
    assert list(tmp_path.iterdir()) == []


def test_known_facts_of_mnist_and_census(data_dir):
    mnist = load("mnist", data_dir=data_dir)
    assert np.bincount(mnist.y).tolist()[:3] == [5923, 6742, 5958]
    assert mnist.X_test.shape == (10000, 784)
    census = load("census", data_dir=data_dir)
    assert census.y.sum() == 7841
    assert census.feature_names[:2] == ("Age", "Workclass")


def test_diabetes_needs_no_file(alone):
    found = load("diabetes")
    assert found.X.shape == (442, 10)
    assert found.feature_names[0] == "age"
    assert found.standing == "exact"


def test_a_download_enters_the_cache_and_is_read_from_there(small, alone):
    found = load("small")
    assert np.array_equal(found.X, small["X"])
    assert np.array_equal(found.y_test, small["y_test"])
    for file in (alone / "public").iterdir():
        file.unlink()
    assert np.array_equal(load("small", download=False).X, small["X"])
    assert sorted(p.name for p in (alone / "cache").iterdir()) == ["small"]


def test_a_download_over_http(small, alone, monkeypatch):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(alone / "public"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_address[1]}/"
        form = replace(loading.CATALOGUE["small"].forms[0], urls=(here + "absent/", here))
        entry = replace(loading.CATALOGUE["small"], forms=(form,))
        monkeypatch.setitem(loading.CATALOGUE, "small", entry)
        found = load("small")  # the first address answers 404, the second has it
        server.shutdown()
    assert np.array_equal(found.X, small["X"])


def test_wrong_data_at_the_address_are_not_kept(small, alone):
    labels = alone / "public" / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(idx_bytes(np.array([7, 2], dtype=np.uint8))))
    with pytest.raises(DatasetNotFoundError, match="SHA-256 of its arrays"):
        load("small")
    assert list((alone / "cache").iterdir()) == []


def test_a_broken_download_is_not_kept(small, alone):
    images = alone / "public" / "train-images-idx3-ubyte.gz"
    images.write_bytes(images.read_bytes()[:20])
    with pytest.raises(DatasetNotFoundError, match="could not be read"):
        load("small")
    assert list((alone / "cache").iterdir()) == []


def test_no_data_is_a_message_that_says_what_to_do(alone):
    with pytest.raises(DatasetNotFoundError) as caught:
        load("mnist", download=False)
    said = str(caught.value)
    for part in ("mnist.npz", "EMSCORESET_DATA", "train-images-idx3-ubyte.gz", "download=True"):
        assert part in said
    with pytest.raises(DatasetNotFoundError, match="no public address"):
        load("hiv_fingerprints")


def test_another_file_in_the_users_folder_is_refused(alone):
    np.savez(alone / "mnist.npz", X_train=np.zeros((2, 4), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"mnist\.npz is not mnist as published"):
        load("mnist", data_dir=alone)
    np.savez(alone / "santa100K.npz", X=np.zeros((2, 4)), y=np.zeros(2))
    with pytest.raises(ValueError, match="is not transactions: its SHA-256"):
        load("transactions", data_dir=alone)


def test_a_file_known_by_its_checksum_is_read_without_its_intercept(alone, monkeypatch):
    X = np.random.default_rng(0).normal(size=(5, 3))
    path = alone / "santa100K.npz"
    np.savez(path, X=np.column_stack([X, np.ones(5)]), y=np.ones(5))
    form = replace(CATALOGUE["transactions"].forms[0], sha256=(loading.sha256(path),))
    entry = replace(CATALOGUE["transactions"], forms=(form,))
    monkeypatch.setitem(loading.CATALOGUE, "transactions", entry)
    assert np.array_equal(load("transactions", data_dir=alone).X, X)


def test_an_unknown_name_and_a_missing_folder_are_named(alone):
    with pytest.raises(ValueError, match="no data set 'minst'; there are mnist"):
        load("minst")
    with pytest.raises(NotADirectoryError, match="data_dir"):
        load("mnist", data_dir=alone / "absent")


def test_a_cached_copy_is_found_where_the_users_folder_has_none(small, alone):
    load("small")
    (alone / "mine").mkdir()
    assert np.array_equal(load("small", data_dir=alone / "mine", download=False).X, small["X"])


def test_adult_data_is_coded_as_the_shap_package_does(tmp_path):
    path = tmp_path / "adult.data"
    path.write_text(ADULT)
    found = read_adult([path])
    assert found["columns"].tolist()[-1] == "Country"
    assert found["X"].tolist() == [
        [39, 1, 13, 1, 0, 0, 1, 0, 2174, 0, 40, 1],
        [50, 0, 13, 0, 1, 4, 0, 0, 0, 0, 13, 0],
    ]
    assert found["y"].tolist() == [0, 1]


def test_credit_csv_and_idx_and_npz(tmp_path):
    path = tmp_path / "credit_card_defaults.csv"
    path.write_text("ID,LIMIT,SEX,DEFAULT\n1,20000,2,1\n2,120000,1,0\n")
    found = read_credit([path])
    assert found["X"].tolist() == [[20000, 2], [120000, 1]]
    assert found["y"].tolist() == [1, -1]
    assert found["columns"].tolist() == ["LIMIT", "SEX"]
    np.savez(tmp_path / "a.npz", X_train=np.eye(2), row_in_another=np.arange(2))
    assert list(read_npz([tmp_path / "a.npz"])) == ["X"]
    (tmp_path / "bad.gz").write_bytes(gzip.compress(b"\0\0\x0d\1" + bytes(4)))
    with pytest.raises(ValueError, match="not an IDX file of bytes"):
        read_idx([tmp_path / "bad.gz"] * 4)


def test_the_checksum_tells_values_shape_and_type_apart():
    X = np.arange(6.0).reshape(2, 3)
    seen = {digest({"X": a}) for a in (X, X.reshape(3, 2), X.astype(np.float32), X + 1)}
    assert len(seen) == 4
    assert digest({"X": np.asfortranarray(X), "columns": np.array(["a"])}) == digest({"X": X})


def test_every_entry_can_be_checked():
    for name, entry in CATALOGUE.items():
        assert entry.standing in ("exact", "partial", "stand-in"), name
        for form in entry.forms:
            assert isinstance(form, Form)
            assert bool(form.sha256) != bool(entry.sha256), name
            assert not form.sha256 or len(form.files) == 1, name
            assert all(url.endswith("/") for url in form.urls), name


def test_the_example_runs(alone, run_example):
    out = run_example("datasets.py")
    assert "Dataset diabetes (exact): 442 rows x 10 columns" in out
    assert "20 weighted atoms" in out
