"""docs/paper.md: the paper's figures and ours, side by side, from the rows that were kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bench.common import ROOT, machine
from bench.paper import chapters, checks, figures
from bench.paper.jobs import QUICK, results_folder

OPENING = """# The paper's experiments, again

*EMS Coreset: An Efficient EM Algorithm for Sinkhorn Coreset* (Yin, Liu and Wang) shrinks a data
set to k weighted points ("atoms") and measures how far they are from the data. Here are its tables
and figures, computed again with this library: **ours (the paper's; ours / the paper's)**. Smaller
distances are better.

What is compared:

- **Random**: k rows of the data, all with the same weight.
- **K-means**: the centres of k-means from random rows, all with the same weight, as in the paper.
- **k-means, masses**: scikit-learn's k-means, each centre weighted by the rows nearest to it: the
  rival that a user would really take. The paper does not have it.
- **WCSL**: gradient descent (Adam) on the Sinkhorn distance, with equal weights. *tuned*: the
  strongest form of it that we could make.
- **EMS reg=...**: the paper's Algorithm 1 with the paper's stopping rule, `algorithm="plain"`.
- **auto**, **best**: this library's own fits at `reg=0`, by default and with ten times the effort.

The distance is the transport cost from the data to the coreset *with its own weights*, at reg
0.01 as in the paper: what it costs, in squared distance, to move every row to the atoms so that
each atom gets exactly its weight. Ours are converged to 1e-4 of the cost. Times are ours and the
paper's on different machines (the paper: a desktop processor and a GPU); compare them down a
column, not across.

`make paper` measures all this, goes on where it was stopped, and needs the data sets where
`emscoreset.datasets` finds them: `make paper ARGS="--data-dir data"`, `EMSCORESET_DATA`, or a
download ([how](guide/datasets.md)); `make paper-quick` measures a little of it."""


def write(quick: bool) -> Path:
    """The page from what has been measured so far."""
    target = QUICK / "paper.md" if quick else ROOT / "docs" / "paper.md"
    pictures = (QUICK if quick else ROOT / "docs" / "figures") / "paper"
    pictures.mkdir(parents=True, exist_ok=True)
    rows = results_folder(quick)
    parts = [OPENING, f"Measured by `make paper` on: {machine('POT', 'torch')}."]
    if quick:
        parts.append("**A quick run: few sizes and one seed.**")
    for chapter in CHAPTERS:
        parts += chapter(rows, pictures, target.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n\n".join(part.strip("\n") for part in parts) + "\n")
    return target


Chapter = Callable[[Path, Path, Path], Sequence[str]]
CHAPTERS: tuple[Chapter, ...] = (
    *(
        checks.short,
        figures.overview,
        chapters.distance,
        chapters.passes,
        chapters.capped,
        chapters.runtime,
    ),
    *(chapters.real_world, figures.stability, chapters.shapley, figures.sensitivity),
    *(chapters.theory, chapters.images, chapters.budget),
)
