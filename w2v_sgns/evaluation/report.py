"""What became of the questions, as tables, as notes in words, and as a document for JSON.

Undefined figures are `n/a` in a table and null in a document. Printing is the CLI's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from w2v_sgns.evaluation import retrieval
from w2v_sgns.evaluation.analogy import AnalogyResult
from w2v_sgns.evaluation.comparison import Difference, Result, WordResult
from w2v_sgns.evaluation.lookup import Missing
from w2v_sgns.evaluation.relations import RelationResult
from w2v_sgns.evaluation.retrieval import RetrievalResult, ScoredTexts
from w2v_sgns.evaluation.similarity import SimilarityResult
from w2v_sgns.evaluation.statistics import Interval
from w2v_sgns.evaluation.tally import Tally

__all__ = ["Table", "difference_document", "difference_table", "document", "notes", "table"]

NOTHING = "n/a"
MOST_MISSING = 6  # words named in a note; the document has all
COUNTS = ("asked", "answered", "skipped", "right")


@dataclass(frozen=True)
class Table:
    """Cells of text; the first row is the header, the first column names the rows."""

    title: str
    rows: Sequence[Sequence[str]]


def table(result: Result) -> Table:
    """Return the figures of one model."""
    title = f"{result.questions.name}: {result.questions.layout}"
    if isinstance(result, AnalogyResult):
        header = ("section", *COUNTS, "accuracy", "95 % interval")
        tallies = [*result.sections(), *result.sums()]
        return Table(title, [header, *map(_tally_row, tallies)])
    if isinstance(result, SimilarityResult):
        return Table(title, _pair_rows(result))
    if isinstance(result, RetrievalResult):
        return Table(title, _retrieval_rows(result))
    return Table(title, _relation_rows(result))


def _tally_row(tally: Tally) -> list[str]:
    counts = [f"{getattr(tally, name):,}" for name in COUNTS]
    return [tally.name, *counts, _percent(tally.accuracy), _percents(tally.interval)]


def _pair_rows(result: SimilarityResult) -> list[list[str]]:
    used = f"{int(result.counted.sum()):,}"
    return [
        ["correlation", "pairs", "used", "value", "95 % interval"],
        [
            "Spearman",
            f"{result.asked:,}",
            used,
            *_figures(result.spearman, result.spearman_interval),
        ],
        ["Pearson", f"{result.asked:,}", used, *_figures(result.pearson, result.pearson_interval)],
    ]


def _retrieval_rows(result: RetrievalResult) -> list[list[str]]:
    rows = [["measure", "questions", "value", "95 % interval"]]
    for name, value, interval in result.figures():
        rows.append([name, f"{result.asked:,}", *_figures(value, interval)])
    return rows


def _relation_rows(result: RelationResult) -> list[list[str]]:
    rows = [["relation", "pairs", "used", "Spearman", "95 % interval"]]
    for one in result.relations:
        used = f"{int(one.counted.sum()):,}"
        figures = _figures(one.spearman, one.spearman_interval)
        rows.append([one.questions.name, f"{one.asked:,}", used, *figures])
    asked = sum(one.asked for one in result.relations)
    used = f"{sum(int(one.counted.sum()) for one in result.relations):,}"
    return [*rows, ["mean", f"{asked:,}", used, *_figures(result.mean, result.mean_interval)]]


def difference_table(result: Result, parts: Sequence[Difference]) -> Table:
    """Return two models' figures over the questions that both answered."""
    title = f"{result.questions.name}: B minus A, over the same questions"
    header = ("section", "questions", "A", "B", "B - A", "95 % interval")
    return Table(title, [header, *(_difference_row(part, result) for part in parts)])


def _difference_row(part: Difference, result: Result) -> list[str]:
    shares = isinstance(result, AnalogyResult)
    value, interval = (_percent, _percents) if shares else (_number, _numbers)
    sign = "+" if part.difference is not None and part.difference > 0 else ""
    figures = [value(part.first), value(part.second), sign + value(part.difference)]
    return [part.name, f"{part.questions:,}", *figures, interval(part.interval)]


def notes(result: Result) -> list[str]:
    """Return what must be said beside the figures: what was asked of what, and what was not."""
    if isinstance(result, RetrievalResult):
        return retrieval.notes(result)
    if isinstance(result, SimilarityResult) and isinstance(result.questions, ScoredTexts):
        return retrieval.scored_notes(result)
    lines = [_scope(result)]
    if isinstance(result, AnalogyResult):
        lines.append(_manner(result))
    if isinstance(result, SimilarityResult) and result.without_direction:
        lines.append(
            f"left out for a vector that is zero or not finite: {result.without_direction:,}"
        )
    lines += [*_folding(result), *_missing(result)]
    if isinstance(result, SimilarityResult) and result.spearman is None:
        lines.append("undefined (n/a): the scores or the cosines do not vary, or too few are known")
    return lines


def _scope(result: WordResult) -> str:
    if result.restrict < result.words:
        return f"words: the first {result.restrict:,} of {result.words:,} (--restrict)"
    return f"words: all {result.words:,}"


def _manner(result: AnalogyResult) -> str:
    method = {"add": "3CosAdd", "mul": "3CosMul"}[result.method]
    first = "first" if result.at == 1 else f"among the first {result.at}"
    skipped = "count as wrong" if result.count_skipped else "are left out"
    return f"method: {method}, right if {first}, interval by Wilson; skipped questions {skipped}"


def _folding(result: WordResult) -> list[str]:
    if result.case == "exact":
        return ["case: exact"]
    folded = (
        result.total.folded
        if isinstance(result, AnalogyResult)
        else sum(one.folded for one in _lists(result))
    )
    meaning = "folded" if result.case == "fold" else "as written, else folded"
    return [f"case: {result.case} ({meaning}); {folded:,} of those answered needed folding"]


def _lists(result: SimilarityResult | RelationResult) -> Sequence[SimilarityResult]:
    return [result] if isinstance(result, SimilarityResult) else result.relations


def _missing(result: WordResult) -> list[str]:
    if not result.missing:
        return []
    cut = sum(missing.row is not None for missing in result.missing)
    named = ", ".join(map(_missing_word, result.missing[:MOST_MISSING]))
    more = ", …" if len(result.missing) > MOST_MISSING else ""
    past = f" ({cut:,} of them past --restrict)" if cut else ""
    return [f"skipped for {len(result.missing):,} unknown words{past}: {named}{more}"]


def _missing_word(missing: Missing) -> str:
    return f"{missing.word} ({missing.questions:,})"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f} %"


def _percents(interval: Interval | None) -> str:
    return NOTHING if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4f}"


def _numbers(interval: Interval | None) -> str:
    return NOTHING if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"


def _figures(value: float | None, interval: Interval | None) -> list[str]:
    return [_number(value), _numbers(interval)]


def document(result: Result) -> dict[str, Any]:
    """Return everything a table and its notes say, and all missing words, ready for JSON."""
    if isinstance(result, RetrievalResult):
        return retrieval.document(result)
    common: dict[str, Any] = {
        "questions": result.questions.name,
        "layout": result.questions.layout,
        "words": result.words,
        "restrict": result.restrict,
        "case": result.case,
        "count_skipped": result.count_skipped,
    }
    if isinstance(result, AnalogyResult):
        common |= {"method": result.method, "at": result.at}
        common["sections"] = [_tally_document(tally) for tally in result.sections()]
        common["sums"] = [_tally_document(tally) for tally in result.sums()]
    elif isinstance(result, SimilarityResult):
        common |= _pair_document(result)
    else:
        common["relations"] = [
            {"name": one.questions.name} | _pair_document(one) for one in result.relations
        ]
        common |= {"mean_spearman": result.mean, "mean_interval": result.mean_interval}
    common["missing"] = [vars(missing) for missing in result.missing]
    common["malformed"] = [vars(line) for line in result.questions.malformed]
    common["header"] = result.questions.header
    common["unread"] = list(result.questions.unread)
    return common


def _tally_document(tally: Tally) -> dict[str, Any]:
    counts = {name: getattr(tally, name) for name in ("name", *COUNTS, "folded")}
    return counts | {"accuracy": tally.accuracy, "interval": tally.interval}


def _pair_document(result: SimilarityResult) -> dict[str, Any]:
    names = ["asked", "answered", "unknown", "without_direction", "folded", "spearman"]
    names += ["spearman_interval", "pearson", "pearson_interval"]
    return {name: getattr(result, name) for name in names} | {"used": int(result.counted.sum())}


def difference_document(part: Difference) -> dict[str, Any]:
    """Return one difference, ready for JSON."""
    return vars(part) | {"difference": part.difference}
