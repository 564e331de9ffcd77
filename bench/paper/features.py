"""Representations of 28 x 28 images in which a coreset can be taken.

A representation is a function of a data set's name that gives one row of numbers for each
training image. To use features of a network of yours, save them as an array of 60,000 rows and
name the file: EMSCORESET_FEATURES_MNIST=features.npy (or ..._FASHION_MNIST); they are then the
representation "given".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from bench.paper.problems import PIXELS, images
from emscoreset.datasets import load

Array = np.ndarray
SIDE, PATCH, FILTERS = 28, 6, 64
COLUMNS = 64  # kept of a representation's principal components


@cache
def test_images(name: str) -> Array:
    """The test images, normalised as the training images are."""
    mean, std = PIXELS[name]
    return ((load(name).X_test.astype(np.float32) / 255 - mean) / std).astype(np.float32)


@cache
def pca(name: str) -> Array:
    """The first principal components of the pixels."""
    return PCA(COLUMNS, random_state=0).fit_transform(images(name))


@cache
def convolved(name: str) -> tuple[Array, Array]:
    """Random convolutional features of training and test images, with no label in them.

    Whitened patches serve as filters; their rectified answers are summed over the quarters of
    the image (Coates, Lee and Ng 2011 found that random patches do nearly as well as learnt
    filters).
    """
    train = images(name).reshape(-1, SIDE, SIDE)
    rng = np.random.default_rng(0)
    sample = _patches(train[rng.choice(len(train), 2000, replace=False)]).reshape(-1, PATCH**2)
    sample = sample[rng.choice(len(sample), 50_000, replace=False)]
    mean = sample.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(sample, rowvar=False) + 0.1 * np.eye(PATCH**2))
    white = (vectors / np.sqrt(values)) @ vectors.T
    filters = (sample[rng.choice(len(sample), FILTERS, replace=False)] - mean) @ white
    filters /= np.linalg.norm(filters, axis=1, keepdims=True)
    answer = (white @ filters.T).astype(np.float32)
    bias = (mean @ white @ filters.T).astype(np.float32)
    both = [_answers(x, answer, bias) for x in (train, test_images(name).reshape(-1, SIDE, SIDE))]
    reduced = PCA(2 * COLUMNS, random_state=0).fit(both[0])
    return reduced.transform(both[0]), reduced.transform(both[1])


def _patches(x: Array) -> Array:
    """Every patch of every image. OUT (n, places, places, PATCH^2)."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (PATCH, PATCH), axis=(1, 2))
    return windows.reshape(*windows.shape[:3], PATCH**2)


def _answers(x: Array, answer: Array, bias: Array) -> Array:
    """Each filter's rectified answers, summed over the image's quarters. OUT (n, 4 filters)."""
    out = np.empty((len(x), 4 * answer.shape[1]), dtype=np.float32)
    half = (SIDE - PATCH + 1) // 2
    for i in range(0, len(x), 500):
        a = np.maximum(_patches(x[i : i + 500]) @ answer - bias - 0.25, 0)
        quarters = [a[:, r, c].sum(axis=(1, 2)) for r in _halves(half) for c in _halves(half)]
        out[i : i + 500] = np.concatenate(quarters, axis=1)
    return out


def _halves(half: int) -> tuple[slice, slice]:
    return slice(None, half), slice(half, None)


@cache
def encoded(name: str) -> Array:
    """The last layer but one of a small convolutional network, trained on the training labels."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(2)
    net = nn.Sequential(
        *(nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(32 * 5 * 5, COLUMNS), nn.ReLU()),
    )
    head = nn.Linear(COLUMNS, 10)
    X = torch.from_numpy(images(name).reshape(-1, 1, SIDE, SIDE))
    y = torch.from_numpy(load(name).y.astype(np.int64))
    adam = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(2):
        for batch in torch.randperm(len(X)).split(128):
            adam.zero_grad()
            nn.functional.cross_entropy(head(net(X[batch])), y[batch]).backward()
            adam.step()
    with torch.no_grad():
        return torch.cat([net(part) for part in X.split(1000)]).numpy()


def given(name: str) -> Array:
    """The features whose file the environment names."""
    path = os.environ[_variable(name)]
    features = np.load(path, allow_pickle=False)
    if features.ndim != 2 or len(features) != len(images(name)):
        raise ValueError(
            f"{path} must hold one row of features for each of the {len(images(name)):,} training "
            f"images of {name}, not an array of shape {features.shape}"
        )
    return np.asarray(features, dtype=np.float32)


def _variable(name: str) -> str:
    return f"EMSCORESET_FEATURES_{name.upper()}"


def representations(name: str) -> dict[str, Callable[[str], Array]]:
    """What can be had of this data set, the largest last."""
    out = {"PCA": pca, "random filters": lambda n: convolved(n)[0], "trained network": encoded}
    if _variable(name) in os.environ:
        out["given"] = given
    return {**out, "pixels": images}


def accuracy(name: str, rows: Array, weights: Array, judge: str) -> float:
    """Share of test images that a weighted logistic regression on these rows gets right."""
    train, test = (images(name), test_images(name)) if judge == "pixels" else convolved(name)
    scale = train.std()
    model = LogisticRegression(C=0.1, max_iter=500)
    y = load(name).y
    model.fit(train[rows] / scale, y[rows], sample_weight=weights * len(weights))
    return float((model.predict(test / scale) == load(name).y_test).mean())
