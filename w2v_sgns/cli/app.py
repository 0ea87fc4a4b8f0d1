"""The command `w2v`: its verbs, its exit codes.

Exit codes: 0 done; 1 the user's input, files or machine, in one line; 2 an unknown option or an
unparsable value; 130 and 143 interrupted. A verb's module imports its libraries when it runs,
so that --help and the query verbs never wait for the compiler.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from w2v_sgns import __version__
from w2v_sgns.cli import (
    analogy,
    classes,
    compare,
    encode,
    eval,
    export,
    info,
    map,
    odd,
    pairs,
    phrases,
    plot,
    search,
    similar,
    step,
    train,
    vocab,
)
from w2v_sgns.cli.options import asked_for_debug
from w2v_sgns.cli.output import shown
from w2v_sgns.cli.verb import Verb
from w2v_sgns.errors import W2VError

__all__ = ["app", "main"]

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class Verbs(TyperGroup):
    """Runs a verb and turns what the user can mend into one line and an exit code.

    Any other exception is a fault of the program and keeps its traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                warnings.simplefilter("always", UserWarning)
                result = super().invoke(ctx)
            sys.stdout.flush()  # here a full disk can still be told
            return result
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(0) from None  # the reader has all it wanted
        except KeyboardInterrupt:
            _tell("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except (W2VError, OSError, MemoryError) as error:
            if asked_for_debug(ctx):
                traceback.print_exc()
            _tell(_line(error))
            _settle_output()
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=Verbs,
    help="Train word vectors by skip-gram with negative sampling, and ask them.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,  # two options that write to the shell's start files, in every --help
    pretty_exceptions_enable=False,
)
app.command("train", cls=train.TrainCommand)(train.train)
app.command("vocab", cls=Verb)(vocab.vocab)
app.command("phrases", cls=Verb)(phrases.phrases)
app.command("similar", cls=Verb)(similar.similar)
app.command("analogy", cls=Verb)(analogy.analogy)
app.command("odd", cls=Verb)(odd.odd)
app.command("eval", cls=Verb)(eval.evaluate)
app.command("classes", cls=Verb)(classes.classes)
app.command("map", cls=Verb)(map.draw_map)
app.command("step", cls=Verb)(step.step)
app.command("compare", cls=Verb)(compare.compare)
app.add_typer(plot.plot, name="plot")
app.command("info", cls=Verb)(info.info)
app.command("export", cls=Verb)(export.export)
app.command("pairs", cls=Verb)(pairs.pairs)
app.command("encode", cls=Verb)(encode.encode)
app.command("search", cls=Verb)(search.search)


_terminated: list[int] = []  # signals that have come


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"w2v {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line of this process and exit."""
    signal.signal(signal.SIGTERM, _terminate)
    # also for a job that a script started in the background, where the shell ignores it: whoever
    # sends it there means it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _fill_streams()
    for stream in (sys.stdout, sys.stderr):  # a poor terminal gets \xe9 instead of a crash
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="w2v")
    except SystemExit:
        if _terminated:  # Ray makes its own of an exit that comes while it waits
            raise SystemExit(TERMINATED) from None
        raise


def _fill_streams() -> None:
    """Put nothing where the shell closed a stream (`<&-`); the first free descriptor is its own."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _terminate(number: int, frame: FrameType | None) -> None:
    """Leave by an exception, so that temporary files are removed."""
    _terminated.append(number)
    raise SystemExit(TERMINATED)


def _line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    if isinstance(error, OSError) and not isinstance(error, W2VError):
        file = f"{error.filename}: " if error.filename else ""
        return f"{file}{error.strerror or error}"
    return str(error)


def _tell(line: str) -> None:
    typer.echo(f"w2v: {shown(line)}", err=True)


def _settle_output() -> None:
    """Write out what is left, or give it up where that fails: it has been told."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _show_warning(message: Warning | str, *place: Any, **more: Any) -> None:
    """Say what is odd about a file in one line, without a place in the program."""
    _tell(f"warning: {message}")


def _drop_output() -> None:
    """Point stdout nowhere, so that leaving the interpreter does not complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
