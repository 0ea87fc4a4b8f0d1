"""`w2v plot curve`: loss, learning rate and speed of trainings, from their logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from w2v_sgns.cli.options import DebugOption
from w2v_sgns.cli.output import shown
from w2v_sgns.cli.verb import Verb

__all__ = ["plot"]

plot = typer.Typer(help="Draw figures from logs.", no_args_is_help=True)


@plot.callback()
def _figures() -> None:
    """Draw figures from logs (extra: plot)."""


@plot.command("curve", cls=Verb)
def curve(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG...", help="Files that train --log-json wrote.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The file to write: .png, .svg, .html."
        ),
    ] = Path("curve.png"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing output.")] = False,
    debug: DebugOption = False,
) -> None:
    """Draw loss, learning rate and words/s of one or several trainings."""
    from w2v_sgns.formats.findings import plural
    from w2v_sgns.plots.curve import check_curve, draw_curve, read_log

    check_curve(output, force=force, inputs=logs)
    runs = [read_log(path) for path in logs]
    draw_curve(output, runs, force=force)
    typer.echo(f"written     {shown(str(output))}: {plural(len(runs), 'run')}", err=True)
