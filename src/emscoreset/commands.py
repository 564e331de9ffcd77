"""What the command does: parse, call, print. All work is done by `compress`, `score` and `load`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from emscoreset.io import check_target, load

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Shrink a table to a few weighted rows, and know exactly how much was lost.",
)
out, err = (
    Console(highlight=False, soft_wrap=True),
    Console(stderr=True, highlight=False, soft_wrap=True),
)


class Rows(StrEnum):
    """What the coreset's rows are."""

    real = "real"
    balanced = "balanced"
    atoms = "atoms"


class Missing(StrEnum):
    """What a gap is."""

    error = "error"
    indicator = "indicator"
    impute = "impute"
    drop = "drop"


class Scale(StrEnum):
    """What numbers are divided by."""

    standard = "standard"
    robust = "robust"
    none = "none"


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Weight = Annotated[str | None, typer.Option(help="The column of the rows' weights.")]


@app.command()
def fit(
    data: Annotated[Path, typer.Argument(metavar="INPUT", help="A Parquet, CSV or Feather file.")],
    n_atoms: Annotated[int, typer.Option("-k", "--n-atoms", help="How many rows to keep.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="OUT.parquet or OUT.npz.")],
    reg: Annotated[float, typer.Option(help="The temperature; 0: hard assignment.")] = 0.0,
    rows: Annotated[
        Rows,
        typer.Option(
            help="Real rows, balanced ones whose shares are the data's, or averages as valid "
            "values that nobody has."
        ),
    ] = Rows.real,
    columns: Annotated[
        str | None, typer.Option(help="The columns that tell rows apart: a,b,c.")
    ] = None,
    exclude: Annotated[str | None, typer.Option(help="Columns that do not: a,b,c.")] = None,
    weight: Weight = None,
    stratify: Annotated[
        str | None, typer.Option(help="A column of classes whose masses stay exact.")
    ] = None,
    missing: Annotated[Missing, typer.Option(help="What to do with gaps.")] = Missing.error,
    scale: Annotated[Scale, typer.Option(help="How numbers are scaled.")] = Scale.standard,
    seed: Annotated[int | None, typer.Option(help="The same seed, the same result.")] = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Shrink a table to a few weighted rows."""
    with _errors(quiet or as_json) as known:
        from emscoreset.api import compress

        check_target(output, data)
        with Console(stderr=True).status(f"compressing {data.name} ..."):
            coreset = compress(
                data,
                n_atoms,
                reg=reg,
                rows=rows.value,
                columns=_names(columns),
                exclude=_names(exclude),
                weight=weight,
                stratify=stratify,
                missing=missing.value,
                scale=scale.value,
                random_state=seed,
            )
        coreset.save(output)
        known.extend(coreset.provenance["messages"])  # which are printed with the rest
    if as_json:
        _print_json({**coreset.figures(), "output": str(output)})
    elif not quiet:
        typer.echo(f"{coreset.in_words()}\nsaved as {output}")


@app.command()
def score(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A Parquet, CSV or Feather file.")],
    coreset: Annotated[Path, typer.Argument(metavar="CORESET", help="What fit wrote.")],
    weight: Weight = None,
    as_json: Json = False,
) -> None:
    """How well a coreset stands in for other rows."""
    with _errors(as_json):
        from emscoreset.scoring import score

        found = score(data, load(coreset), weight=weight)
    if as_json:
        _print_json({**asdict(found), "kept": found.kept})
    else:
        typer.echo(str(found))


@app.command()
def show(
    coreset: Annotated[Path, typer.Argument(metavar="CORESET", help="What fit wrote.")],
    as_json: Json = False,
) -> None:
    """What a coreset is, and its columns beside the data's."""
    with _errors(as_json):
        found = load(coreset)
        lines = found.compare() if "columns" in found.provenance else []
    if as_json:
        _print_json({**found.figures(), "columns": [one._asdict() for one in lines]})
        return
    from emscoreset.profile import in_short

    typer.echo(found.in_words())
    table = Table("column", "figure")
    for name in ("data", "coreset"):
        table.add_column(name, justify="right")
    last = None
    for one in lines:
        first = one.column != last
        if first and last is not None:
            table.add_section()
        last = one.column
        table.add_row(
            one.column if first else "", one.figure, in_short(one.data), in_short(one.coreset)
        )
    if lines:
        Console().print(table)


def _names(text: str | None) -> list[str] | None:
    """The names in a list with commas."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value))


@contextmanager
def _errors(silent: bool) -> Iterator[list[str]]:
    """Warnings as notes, but for those known; what users can mend as one line and exit code 2."""
    known: list[str] = []
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", UserWarning)
        try:
            yield known
        except (ValueError, TypeError, OSError, ImportError) as error:
            _say(error)
            raise typer.Exit(2) from None
    for note in noted:
        if not silent and str(note.message) not in known:
            _say(f"note: {note.message}")


def _say(text: Any) -> None:
    typer.echo(f"emscoreset: {' '.join(str(text).split())}", err=True)
