"""The command emscoreset: where its extra is installed; else how to install it."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command."""
    try:
        from emscoreset.commands import app
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(
            f"emscoreset: the command needs {error.name}, which is not installed; "
            "install it with: pip install 'emscoreset[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    app(prog_name="emscoreset")
