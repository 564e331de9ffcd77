"""Which data sets there are, what each of them is, where it lies and its checksum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from emscoreset.datasets import readers
from emscoreset.datasets.readers import Arrays


@dataclass(frozen=True)
class Form:
    """One way in which a data set lies in files."""

    files: tuple[str, ...]  # names in ``data_dir``; also the ends of the URLs
    read: Callable[[Sequence[Path]], Arrays] = readers.read_npz
    urls: tuple[str, ...] = ()  # folders to fetch the files from, the next where one fails
    sha256: tuple[str, ...] = ()  # of the one file, where the arrays' own checksum is not known


@dataclass(frozen=True)
class Entry:
    """A data set by name."""

    about: str
    standing: str  # "exact": what its name says; "partial": part of it; "stand-in": other data
    licence: str
    forms: tuple[Form, ...]
    sha256: str | None = None  # `readers.digest` of its arrays


_IDX = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
_GITHUB = "https://raw.githubusercontent.com/"
_LARGE = "https://media.githubusercontent.com/media/trevorcampbell/bayesian-coresets/"
_NTDS = "mdeff/ntds_2017/9c5310a20aa7bdf46dd3736376646db6300a57fb/data/"


def _large(file: str, commit: str, *sha256: str) -> Form:
    """A file that its repository keeps in large-file storage, known by checksum alone."""
    where = f"{_LARGE}{commit}/examples/data/"
    return Form((file,), readers.read_with_intercept, (where,), sha256)


CATALOGUE = {
    "mnist": Entry(
        "MNIST: 60,000 handwritten digits and 10,000 to test, 28 x 28 pixels of 0 to 255",
        "exact",
        "LeCun, Cortes and Burges; none stated",
        (
            Form(("mnist.npz",)),
            Form(
                _IDX,
                readers.read_idx,
                (
                    "https://ossci-datasets.s3.amazonaws.com/mnist/",
                    "https://storage.googleapis.com/cvdf-datasets/mnist/",
                ),
            ),
        ),
        "53e43f82a7b477dd72695818a1e7c0aea7991e5e3e29aaf245a28bdcaf268d12",
    ),
    "fashion_mnist": Entry(
        "Fashion-MNIST: 60,000 pictures of clothes and 10,000 to test, in MNIST's format",
        "exact",
        "MIT, Zalando SE",
        (
            Form(("fashion_mnist.npz",)),
            Form(
                _IDX,
                readers.read_idx,
                (
                    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                    _GITHUB + "zalandoresearch/fashion-mnist/master/data/fashion/",
                ),
            ),
        ),
        "7aadd49ab7670b99fd775b9fe8505b692fa20939fa9fa7e3bf34e3c839db1419",
    ),
    "census": Entry(
        "UCI Adult as the SHAP package gives it: 32,561 people, 12 columns; y: over $50,000 a year",
        "exact",
        "CC BY 4.0, Becker and Kohavi",
        (
            Form(("census.npz",)),
            Form(("adult.parquet",), readers.read_adult_parquet),
            Form(
                ("adult.data",),
                readers.read_adult,
                (
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/",
                    _GITHUB + "shap/shap/df974a1966294b9c7acebb1373fd6dc5445d1d3d/data/",
                ),
            ),
        ),
        "8b20fa5028a98d472427d2171096e01f3f0925c2eeb61fbdd8506275b87599d0",
    ),
    "diabetes": Entry(
        "442 patients, 10 columns, the disease a year on; comes with scikit-learn",
        "exact",
        "Efron, Hastie, Johnstone and Tibshirani; none stated",
        (Form((), readers.read_diabetes),),
        "54b7f5ea1c8c618378a49ef05df491a8fadf68471c09334d6e00e42647515676",
    ),
    "transactions": Entry(
        "Santander's customer transactions, 100,000 x 50, the paper's Transactions",
        "exact",
        "none stated",
        (
            _large(
                "santa100K.npz",
                "7c225854fd888c6fb485eeb2263a333c2432a83d",
                "9cff72bb18e8537f286b9c7d5f962e68cd00fb556403c913060917a878b2b369",
            ),
        ),
    ),
    "chemreact100": Entry(
        "ds1.100, 100 principal components of 26,733 compounds, the paper's ChemReact100",
        "exact",
        "none stated",
        (
            _large(
                "ds1.100.npz",
                "346b3c9aadb977592edf43833a04789fc883eec5",
                "6b83c9e1a1d5df2c1c6ae3c11df8cf7c4651e844e7ec1aba8e6c94dba6e9f601",
                "c16fcc2b00e80b758c77491a32e11f87a2baae384a4e46a2cda913bbb8567d85",
            ),
        ),
    ),
    "music": Entry(
        "237 features of 8,419 pieces of the Free Music Archive, the paper's Music",
        "exact",
        "none stated",
        (
            _large(
                "fma.npz",
                "7c225854fd888c6fb485eeb2263a333c2432a83d",
                "0d7f87aa28ede87c8294b918aafba7766c8edf43bc6a7cbf7855acea7ac22315",
            ),
        ),
    ),
    "chemreact100_tenth": Entry(
        "2,674 of the 26,733 rows of ChemReact100, scaled by their source "
        "(ds1.100_test.npz of github.com/ratschlab/boosting-bbvi)",
        "partial",
        "MIT",
        (Form(("chemreact100_10pct.npz",)),),
        "9e0422bbd53d269933efbb8b127c2249d6dcc5a4724d7eaf171f27c9a5fed7df",
    ),
    "chemreact10": Entry(
        "The first 10 of ChemReact100's 100 columns, all 26,733 rows "
        "(ds1.npz in the history of github.com/trevorcampbell/bayesian-coresets)",
        "partial",
        "MIT",
        (Form(("chemreact10_full.npz",)),),
        "2d681aac8e67e0c21ed55729f2eb8ba22a726ba3969e7133f1eafca38d297287",
    ),
    "hiv_fingerprints": Entry(
        "NCI's AIDS antiviral screen: 26,733 compounds, 100 principal scores of their Morgan "
        "fingerprints (radius 2, 2048 bits); of ChemReact100's shape",
        "stand-in",
        "none stated; a survey of the US government",
        (Form(("chemreact100_substitute_hiv.npz",)),),
        "4562f24675f90b98dc39fb9dc39e1ce7786f5e18f6b164148cc870a078391397",
    ),
    "credit_default": Entry(
        "UCI default of credit card clients: 30,000 x 23 raw amounts with heavy tails",
        "stand-in",
        "CC BY 4.0, Yeh",
        (
            Form(("transactions_substitute_creditdefault.npz",)),
            Form(("credit_card_defaults.csv",), readers.read_credit, (_GITHUB + _NTDS,)),
        ),
        "8f1e468210da8554af8ef283025bada36bcce6fd69d3ef61719151f4d83296ea",
    ),
    "fma_mfcc": Entry(
        "1,990 pieces of the Free Music Archive: 7 statistics of 20 cepstral coefficients "
        "(fma_features.csv of github.com/mdeff/ntds_2017)",
        "stand-in",
        "CC BY 4.0 (metadata)",
        (Form(("music_substitute_fma_mfcc140.npz",)),),
        "5cf4aa7e6ce48e1bb14a10c208bd7d35a8407d06076a3b2f41b6ea10d9b1d734",
    ),
    "fma_echonest": Entry(
        "7,881 pieces of the Free Music Archive: 8 audio features by Echonest "
        "(echonest.csv of github.com/Hadryan/music-genre-classification-10)",
        "stand-in",
        "CC BY 4.0 (metadata)",
        (Form(("music_substitute_fma_echonest8.npz",)),),
        "9e8451f87bc74656e8dcf1f909e0160e3962759b9ea4e00f35cd23922af514a0",
    ),
}
