"""`w2v eval`: files of questions put to one model, or to several that are compared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from w2v_sgns.cli.options import DEFAULT_MODEL, DebugOption, JsonOption
from w2v_sgns.cli.output import Markdown, Terminal, shown, warn, write_json
from w2v_sgns.cli.text_options import EncodingOption
from w2v_sgns.config import TextOptions

if TYPE_CHECKING:
    from w2v_sgns.evaluation.comparison import Difference, Result
    from w2v_sgns.evaluation.questions import Questions
    from w2v_sgns.evaluation.retrieval import QueryDocuments, ScoredTexts
    from w2v_sgns.text import Encoder
    from w2v_sgns.vectors import Vectors

__all__ = ["evaluate"]

CASE, METHOD, AT = "match", "add", 1  # unless given
MOST_LINES = 20  # malformed lines listed; --json has all


def evaluate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Analogies (Google, BATS folder), word pairs with scores, SemEval-2012 folder; "
            "pairs of texts with scores, or query<TAB>document.",
        ),
    ],
    model: Annotated[
        list[Path] | None,
        typer.Option(
            "-m",
            "--model",
            metavar="PATH",
            help="The vectors to judge; again for others to compare with the first; "
            "else $W2V_MODEL or model.safetensors.",
            show_default=False,
        ),
    ] = None,
    restrict: Annotated[
        int | None,
        typer.Option(
            "--restrict",
            metavar="N",
            help="Only the N most frequent words are asked and answer; 0: all. "
            "Else 30000 for analogies, 0 for pairs.",
            show_default=False,
        ),
    ] = None,
    case: Annotated[
        str,
        typer.Option(
            "--case", metavar="exact|fold|match", help="match: as written, else without case."
        ),
    ] = CASE,
    method: Annotated[
        str, typer.Option("--method", metavar="add|mul", help="3CosAdd or 3CosMul.")
    ] = METHOD,
    at: Annotated[
        int, typer.Option("--at", metavar="K", help="Right if among the first K answers.")
    ] = AT,
    count_skipped: Annotated[
        bool,
        typer.Option(
            "--count-skipped", help="Unknown words: the question is wrong, the pair has cosine 0."
        ),
    ] = False,
    pool: Annotated[
        list[Path] | None,
        typer.Option(
            "--pool",
            metavar="DOCS",
            help="A document a line: what the queries of query<TAB>document search; again for "
            "more files. Else the file's own documents.",
            show_default=False,
        ),
    ] = None,
    shared_vocabulary: Annotated[
        bool,
        typer.Option("--shared-vocabulary", help="Cut all models to the words in common."),
    ] = False,
    encoding: EncodingOption = TextOptions.encoding,
    strict: Annotated[
        bool, typer.Option("--strict", help="A malformed line is an error, not a warning.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Judge vectors by analogies, pairs of words or texts, told by content.

    The report says how many questions were asked, how many the model could
    answer, and which words it lacks. Malformed lines are listed on stderr.
    """
    if json and markdown:
        raise typer.BadParameter("--json and --markdown are two answers; choose one")
    options = {"case": case, "count_skipped": count_skipped}
    analogy_options = {"method": method, "at": at}
    paths = model or [Path(os.environ.get("W2V_MODEL") or DEFAULT_MODEL)]
    questions = [_read(file, pool or [], encoding, strict=strict) for file in files]
    judge = _Judge(paths, restrict, options, analogy_options, shared=shared_vocabulary)
    results = [judge.ask(one) for one in questions]
    _warn_of_undefined(results)
    if json:
        write_json([_document(paths, answers) for answers in results])
        return
    style = Markdown() if markdown else Terminal()
    for place, answers in enumerate(results):
        typer.echo("\n" * (place > 0) + "\n".join(_report(paths, answers, style)))


def _read(file: Path, pool: list[Path], encoding: str, *, strict: bool) -> Questions:
    """Read a file and tell, on stderr, which of its lines are no questions."""
    from w2v_sgns.errors import FormatError
    from w2v_sgns.evaluation.files import read_questions
    from w2v_sgns.evaluation.retrieval import holds_texts, read_text_questions

    text = TextOptions(encoding=encoding)
    if pool or holds_texts(file, encoding):
        questions = read_text_questions(file, pool, text=text)
    else:
        if encoding != TextOptions.encoding:
            raise typer.BadParameter(f"--encoding is for texts; {file} holds words, as UTF-8")
        questions = read_questions(file)
    lines = [f"{bad.file}:{bad.line}: {bad.message}" for bad in questions.malformed]
    if strict and lines:
        raise FormatError(f"{lines[0]} ({len(lines):,} malformed lines, --strict)")
    if questions.header:
        warn(f"{questions.header}: skipped as a header")
    for unread in questions.unread:
        warn(f"{unread}: no list of words and answers; left out")
    for line in lines[:MOST_LINES]:
        warn(line)
    if len(lines) > MOST_LINES:
        warn(f"{file}: {len(lines) - MOST_LINES:,} more malformed lines, see --json")
    return questions


def _warn_of_undefined(results: list[list[Result]]) -> None:
    from w2v_sgns.evaluation.similarity import SimilarityResult

    for answers in results:
        if any(isinstance(one, SimilarityResult) and one.spearman is None for one in answers):
            warn(f"{answers[0].questions.name}: the correlation is undefined")


class _Judge:
    """The models, and how they are asked."""

    def __init__(
        self,
        paths: list[Path],
        restrict: int | None,
        options: dict[str, Any],
        analogy_options: dict[str, Any],
        *,
        shared: bool,
    ) -> None:
        from w2v_sgns.formats import load_vectors

        if shared and len(paths) < 2:
            raise typer.BadParameter("--shared-vocabulary needs two models or more (-m A -m B)")
        self.models = [load_vectors(path) for path in paths]
        self.paths, self.restrict, self.shared = paths, restrict, shared
        self._encoders: list[Encoder] | None = None
        self.options, self.analogy_options = options, analogy_options
        self._cut: dict[int, list[Vectors]] = {}

    def ask(self, questions: Questions) -> list[Result]:
        """Return every model's answers to one file."""
        from w2v_sgns.evaluation.analogy import RESTRICT, ask_analogies
        from w2v_sgns.evaluation.questions import Analogies, Pairs, Relations
        from w2v_sgns.evaluation.relations import ask_relations
        from w2v_sgns.evaluation.retrieval import QueryDocuments, ScoredTexts
        from w2v_sgns.evaluation.similarity import ask_pairs

        if isinstance(questions, (QueryDocuments, ScoredTexts)):
            return self._ask_texts(questions)
        default = RESTRICT if isinstance(questions, Analogies) else 0
        restrict = default if self.restrict is None else self.restrict
        models, options = self._models(restrict), {"restrict": restrict, **self.options}
        if isinstance(questions, Analogies):
            options |= self.analogy_options
            return [ask_analogies(model, questions, **options) for model in models]
        if isinstance(questions, Pairs):
            return [ask_pairs(model, questions, **options) for model in models]
        assert isinstance(questions, Relations)
        return [ask_relations(model, questions, **options) for model in models]

    def _ask_texts(self, questions: QueryDocuments | ScoredTexts) -> list[Result]:
        from w2v_sgns.evaluation.retrieval import ScoredTexts, ask_documents, ask_scored
        from w2v_sgns.text import Encoder

        self._refuse_options_of_words()
        if self._encoders is None:
            self._encoders = [Encoder.load(path) for path in self.paths]
        if isinstance(questions, ScoredTexts):
            skipped = bool(self.options["count_skipped"])
            return [ask_scored(one, questions, count_skipped=skipped) for one in self._encoders]
        return [ask_documents(one, questions) for one in self._encoders]

    def _refuse_options_of_words(self) -> None:
        given = {
            "--restrict": self.restrict is not None,
            "--shared-vocabulary": self.shared,
            "--case": self.options["case"] != CASE,
            "--method": self.analogy_options["method"] != METHOD,
            "--at": self.analogy_options["at"] != AT,
        }
        for flag in (flag for flag, is_given in given.items() if is_given):
            raise typer.BadParameter(f"{flag} is for words, not texts: leave it out")

    def _models(self, restrict: int) -> list[Vectors]:
        if not self.shared:
            return self.models
        if restrict not in self._cut:
            from w2v_sgns.evaluation.comparison import shared_vocabulary

            self._cut[restrict] = shared_vocabulary(self.models, restrict=restrict)
        return self._cut[restrict]


def _differences(answers: list[Result]) -> list[list[Difference]]:
    """Return every further model's differences from the first."""
    if len(answers) < 2:
        return []
    from w2v_sgns.evaluation.comparison import compare

    return [compare(answers[0], other) for other in answers[1:]]


def _document(paths: list[Path], answers: list[Result]) -> dict[str, Any]:
    from w2v_sgns.evaluation.report import difference_document, document

    models = [
        {"model": str(path)} | document(result) for path, result in zip(paths, answers, strict=True)
    ]
    compared = [
        {"first": str(paths[0]), "second": str(path), "parts": [*map(difference_document, parts)]}
        for path, parts in zip(paths[1:], _differences(answers), strict=True)
    ]
    return {"questions": answers[0].questions.name, "models": models, "differences": compared}


def _report(paths: list[Path], answers: list[Result], style: Terminal | Markdown) -> Iterator[str]:
    """Yield a file's report: each model's table and notes, then the differences."""
    from w2v_sgns.evaluation.report import difference_table, notes, table

    for path, result in zip(paths, answers, strict=True):
        yield from style.table(table(result))
        yield from style.notes([f"model: {shown(str(path))}", *notes(result)])
        yield ""
    for path, parts in zip(paths[1:], _differences(answers), strict=True):
        yield from style.table(difference_table(answers[0], parts))
        names = [f"A: {shown(str(paths[0]))}", f"B: {shown(str(path))}"]
        yield from style.notes([*names, "interval: questions drawn anew 2,000 times, paired"])
        yield ""
