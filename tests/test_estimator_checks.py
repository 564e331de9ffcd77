"""All of scikit-learn's estimator checks: none left out, none expected to fail."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from emscoreset import EMSCoreset

MODELS = [EMSCoreset(n_atoms=100), EMSCoreset(n_atoms=3)]


# The checks' data often have fewer rows than 100, which EMSCoreset says.
@pytest.mark.filterwarnings("ignore:X has only .* distinct rows:UserWarning")
@parametrize_with_checks(MODELS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"n_atoms={model.n_atoms}")
def test_list_of_checks(model):
    names = [check.func.__name__ for _, check in estimator_checks_generator(model)]
    print(f"\n{len(names)} checks of EMSCoreset(n_atoms={model.n_atoms}):", *names, sep="\n  ")
    assert "check_sample_weight_equivalence_on_dense_data" in names
    assert len(names) > 40


def test_the_check_that_scikit_learn_skips_without_the_array_api():
    code = """
from sklearn.utils.estimator_checks import estimator_checks_generator
from emscoreset import EMSCoreset
for n_atoms in (100, 3):
    checks = estimator_checks_generator(EMSCoreset(n_atoms=n_atoms))
    (found,) = [pair for pair in checks if pair[1].func.__name__ == "check_array_api_input"]
    found[1](found[0])
"""
    env = {**os.environ, "SCIPY_ARRAY_API": "1"}  # read when SciPy is loaded
    subprocess.run([sys.executable, "-c", code], check=True, env=env)
