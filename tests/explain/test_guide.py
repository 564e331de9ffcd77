"""The guide's examples run."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "shap.md"


def test_the_guides_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    assert len(blocks) >= 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("\n".join(blocks), {})
    assert "mean error of 64 atoms" in capsys.readouterr().out
