"""The map in a real browser: every way to use it, and what hostile words do: nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import small_model
from typer.testing import CliRunner

from w2v_sgns import Vectors
from w2v_sgns.cli.app import app
from w2v_sgns.plots.map import build_map, save_map

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    '"quoted"',
    "it's",
    "&amp;",
    "<!--",
    "\u202etxet",  # turns what follows around
    "x" * 5000,
    b"caf\xe9",
    "a\u2028b",
    "`${alert(4)}`",
    "{{script}}",
    "日本",
    "كتاب",
    "",
    " ",
)
GROUPS, COUNT, DIM, TOP = 8, 400, 24, 300


def clustered_model() -> Any:
    """Words in groups: the ten nearest of each are of its group, so their order matters."""
    words = [f"word{row}" for row in range(COUNT - len(HOSTILE) - 4)]
    words = ["man", "king", "woman", "queen", *HOSTILE, *words]
    model = small_model(words, dim=DIM)
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((GROUPS, DIM))
    model.E[:] = centres[rng.integers(0, GROUPS, COUNT)] + 0.8 * rng.standard_normal((COUNT, DIM))
    model.E[3] = model.E[1] / np.linalg.norm(model.E[1]) + model.E[2] / np.linalg.norm(model.E[2])
    model.E[3] -= model.E[0] / np.linalg.norm(model.E[0])
    return model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("map") / "model.safetensors"
    clustered_model().save(path)
    return path


@pytest.fixture(scope="module")
def file(model: Path) -> Path:
    """The page of the most frequent words of the model."""
    out = model.with_name("map.html")
    done = CliRunner().invoke(app, ["map", str(out), "-m", str(model), "--top", str(TOP)])
    assert done.exit_code == 0, done.stderr
    return out


@pytest.fixture
def page(open_page: Callable[..., Any], file: Path) -> Any:
    return open_page(file).page


def listed(page: Any) -> list[tuple[str, float]]:
    """The words and cosines of the list, as text."""
    rows = page.locator("#answer-list li").all()
    return [
        (row.locator(".word").text_content(), float(row.locator(".cosine").text_content()))
        for row in rows
    ]


def similar(model: Path, word: str) -> list[tuple[str, float]]:
    arguments = ["similar", "-m", str(model), "--restrict", str(TOP), "--json", "--", word]
    (answer,) = json.loads(CliRunner().invoke(app, arguments).stdout)
    return [(hit["word"], hit["cosine"]) for hit in answer["similar"]]


def alike(found: list[tuple[str, float]], exact: list[tuple[str, float]]) -> bool:
    """The same ten, but for one at the end that the coarser numbers may have changed."""
    return len({word for word, _ in found} & {word for word, _ in exact}) >= len(exact) - 1


def at(page: Any, word: str) -> tuple[float, float]:
    """Where the word's dot stands on the canvas."""
    place = "w => [wordMap.camera.screenX(w), wordMap.camera.screenY(w)]"
    row = page.evaluate("word => wordMap.lexicon.find(word)", word)
    return tuple(page.evaluate(place, row))


def click_word(page: Any, word: str, **options: Any) -> None:
    x, y = at(page, word)
    page.locator("#canvas").click(position={"x": x, "y": y}, **options)


def test_search_with_completion(page: Any, model: Path) -> None:
    page.get_by_label("Find a word").press_sequentially("KIN")
    options = page.get_by_role("option")
    assert options.all_text_contents()[0] == "king"
    page.keyboard.press("ArrowDown")
    assert page.locator("#word").get_attribute("aria-activedescendant") == "word-options-0"
    page.keyboard.press("Enter")
    assert page.locator("#answer-title").text_content() == "Nearest to king"
    assert alike(listed(page), similar(model, "king"))
    assert page.locator("#word").input_value() == "king"
    assert options.count() == 0


def test_completion_finds_what_a_word_contains_and_escape_closes_it(page: Any) -> None:
    page.get_by_label("Find a word").press_sequentially("ee")
    assert page.get_by_role("option").all_text_contents() == ["queen"]
    page.keyboard.press("Escape")
    assert page.get_by_role("option").count() == 0
    page.keyboard.press("Enter")
    assert "Not among the 300 words of this map: “ee”" in page.get_by_role("status").text_content()


def test_a_choice_of_the_pointer(page: Any) -> None:
    page.get_by_label("Find a word").press_sequentially("wom")
    page.get_by_role("option", name="woman").click()
    assert page.locator("#answer-title").text_content() == "Nearest to woman"


def test_neighbours_are_those_of_w2v_similar(page: Any, model: Path) -> None:
    words = [f"word{row}" for row in range(100)]
    find = """words => words.map(word => wordMap.space.neighbours(wordMap.lexicon.find(word), 10)
        .map(hit => [wordMap.data.words[hit.row], hit.cosine]))"""
    shared = 0
    for word, found in zip(words, page.evaluate(find, words), strict=True):
        exact = dict(similar(model, word))
        both = [(cosine, exact[name]) for name, cosine in found if name in exact]
        shared += len(both)
        assert all(abs(one - other) < 0.01 for one, other in both)
    assert shared >= 0.95 * 10 * len(words)
    stated = page.evaluate("wordMap.data.overlap")
    assert abs(stated - shared / 1000) < 0.03
    assert f"{round(100 * stated, 1):g} %" in page.locator("#about").text_content()


def test_a_click_on_a_dot_and_on_a_neighbour(page: Any, model: Path) -> None:
    page.evaluate("wordMap.zoom(20); wordMap.camera.show([wordMap.lexicon.find('word7')])")
    click_word(page, "word7")
    assert page.locator("#answer-title").text_content() == "Nearest to word7"
    first = listed(page)[0][0]
    assert page.evaluate("wordMap.scene.links.length") == 10
    page.locator("#answer-list button").first.click()
    assert page.locator("#answer-title").text_content() == f"Nearest to {first}"
    assert alike(listed(page), similar(model, first))
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#answer").is_hidden()
    assert page.evaluate("wordMap.scene.links.length") == 0


def test_analogy(page: Any, model: Path) -> None:
    for label, word in (("A", "man"), ("B, which", "king"), ("as is to C", "woman")):
        page.get_by_label(label, exact=label == "A").fill(word)
    page.get_by_role("button", name="Ask").click()
    assert page.locator("#answer-title").text_content() == "man is to king as woman is to …"
    arguments = ["analogy", "man", "king", "woman", "-m", str(model), "--restrict", str(TOP)]
    answers = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)["answers"]
    found = listed(page)
    assert found[0][0] == answers[0]["word"] == "queen"
    assert abs(found[0][1] - answers[0]["cosine"]) < 0.01
    page.get_by_label("as is to C").fill("nobody")
    page.keyboard.press("Enter")
    assert "“nobody”" in page.get_by_role("status").text_content()
    page.get_by_label("as is to C").fill("")
    page.keyboard.press("Enter")
    assert page.get_by_role("status").text_content() == "Type a word first."


def test_keys_on_the_map(page: Any) -> None:
    page.locator("#canvas").focus()
    view = "[wordMap.camera.x, wordMap.camera.y, wordMap.camera.scale]"
    scale = page.evaluate(view)[2]
    for key, change in (("ArrowRight", (1, 0)), ("ArrowLeft", (-1, 0)), ("ArrowUp", (0, 1))):
        before = page.evaluate(view)
        page.keyboard.press(key)
        after = page.evaluate(view)
        assert [np.sign(b - a) for a, b in zip(before, after, strict=True)] == [*change, 0], key
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert page.evaluate(view)[2] == pytest.approx(2.25 * scale)
    page.keyboard.press("-")
    assert page.evaluate(view)[2] == pytest.approx(1.5 * scale)
    page.keyboard.press("Enter")
    middle = "wordMap.closest(wordMap.camera.width / 2, wordMap.camera.height / 2)"
    word = page.evaluate(f"wordMap.data.words[{middle}]")
    assert page.locator("#answer-title").text_content() == f"Nearest to {word}"
    page.keyboard.press("Escape")
    assert page.locator("#answer").is_hidden()
    page.keyboard.press("0")
    assert page.evaluate(view) == [0, 0, scale]


def test_every_control_is_reached_by_tab_and_has_a_name(page: Any) -> None:
    page.get_by_label("Find a word").fill("king")
    page.keyboard.press("Enter")
    page.locator("#canvas").focus()
    seen = []
    for _ in range(60):
        seen.append(
            page.evaluate(
                """() => { const e = document.activeElement;
                return e.ariaLabel || e.labels?.[0]?.textContent || e.textContent.trim(); }"""
            )
        )
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
    assert all(seen)
    for name in ("Map of the words", "Zoom in", "Show the whole map", "Find a word", "A", "Ask"):
        assert name in seen
    assert any(page.locator("#answer-list button").first.text_content() == name for name in seen)


def test_mouse_drag_and_wheel(page: Any) -> None:
    x, y = at(page, "word5")
    page.mouse.move(300, 300)
    page.mouse.down()
    page.mouse.move(340, 310, steps=4)
    page.mouse.up()
    assert at(page, "word5") == pytest.approx((x + 40, y + 10), abs=0.1)
    assert page.locator("#answer").is_hidden()  # a drag is no click
    page.mouse.move(*at(page, "word5"))
    before = at(page, "word5")
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(50)
    assert at(page, "word5") == pytest.approx(before, abs=0.1)  # what is under the pointer stays
    assert page.evaluate("wordMap.camera.scale / wordMap.camera.smallest") > 1.5


TOUCH = """(places) => {
  const canvas = document.getElementById("canvas");
  const send = (name, id, [x, y]) => canvas.dispatchEvent(new PointerEvent(name, {
    pointerId: id, pointerType: "touch", clientX: x, clientY: y, bubbles: true }));
  canvas.setPointerCapture = () => {};
  places.forEach(([from], i) => send("pointerdown", i + 1, from));
  places.forEach(([, to], i) => send("pointermove", i + 1, to));
  places.forEach(([, to], i) => send("pointerup", i + 1, to));
}"""


def test_two_fingers_zoom_and_tap_selects(open_page: Callable[..., Any], file: Path) -> None:
    page = open_page(file, width=400, height=800, has_touch=True).page
    scale = page.evaluate("wordMap.camera.scale")
    page.evaluate(TOUCH, [[[180, 200], [130, 200]], [[220, 200], [270, 200]]])
    assert page.evaluate("wordMap.camera.scale") > 2 * scale
    assert page.locator("#answer").is_hidden()
    page.evaluate("wordMap.showAll()")
    click_word(page, "word9")
    assert page.locator("#answer").is_visible()


def test_labels_thin_out_and_do_not_overlap(page: Any) -> None:
    boxes = """() => { const { labels, camera } = wordMap; return labels.shown().map(row => [
        camera.screenX(row), camera.screenY(row), labels.width(row)]); }"""
    few = page.evaluate(boxes)
    page.evaluate("wordMap.zoom(4)")
    more = page.evaluate(boxes)
    assert 20 < len(few) < len(more) <= TOP
    for found in (few, more):
        found.sort(key=lambda box: box[1])
        for i, (x, y, width) in enumerate(found):
            for other_x, other_y, other_width in found[i + 1 :]:
                if other_y - y >= 15:
                    break
                assert x + width < other_x or other_x + other_width < x


def test_a_class_can_be_shown_alone(page: Any) -> None:
    button = page.locator("#class-list button").nth(2)
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert page.evaluate("wordMap.scene.label") == 2
    button.click()
    assert page.evaluate("wordMap.scene.label") == -1


@pytest.mark.parametrize("width", [320, 360, 768, 1440])
def test_nothing_is_wider_than_the_window(
    width: int, open_page: Callable[..., Any], file: Path
) -> None:
    page = open_page(file, width=width, height=740).page
    page.get_by_label("Find a word").fill("man")
    page.get_by_role("button", name="Show", exact=True).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator("#canvas").bounding_box()
    assert box["width"] >= min(width, 360) * 0.8
    assert box["height"] >= 400
    for field in page.locator("input").all():
        assert field.bounding_box()["width"] >= 40
    for button in page.locator(".zoom button").all():
        assert button.bounding_box()["height"] >= 44  # pixels a finger needs


PIXEL = """() => { const { context } = wordMap.painter;
    return [...context.getImageData(1, 1, 1, 1).data.slice(0, 3)]; }"""


def test_light_and_dark_follow_the_system(open_page: Callable[..., Any], file: Path) -> None:
    page = open_page(file, color_scheme="dark").page
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(236, 239, 243)"
    assert page.evaluate("wordMap.painter.colours.paper") == "#14171c"
    page.emulate_media(color_scheme="light")
    page.wait_for_function("() => wordMap.painter.colours.paper === '#ffffff' && !wordMap.waiting")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    assert page.evaluate(PIXEL) == [255, 255, 255]
    assert open_page(file, color_scheme="dark").page.evaluate(PIXEL) == [20, 23, 28]


def test_hostile_words_are_text(open_page: Callable[..., Any], file: Path) -> None:
    shown = open_page(file)
    page = shown.page
    words = page.evaluate("wordMap.data.words")
    assert words[4 : 4 + len(HOSTILE)] == [
        *HOSTILE[:7],
        r"\u202etxet",
        "x" * 199 + "…",
        r"caf\xe9",
        r"a\u2028b",
        *HOSTILE[11:],
    ]
    for row in range(4, 4 + len(HOSTILE)):
        page.evaluate("row => wordMap.select(row)", row)
        assert page.locator("#answer-title").text_content() == f"Nearest to {words[row]}"
    page.get_by_label("Find a word").fill("<script")
    assert "<script>alert(1)</script>" in page.get_by_role("option").all_text_contents()
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_the_policy_forbids_what_is_not_the_pages_own(browser: Any, file: Path) -> None:
    page = browser.new_page()
    page.goto(file.as_uri())
    page.wait_for_function("() => globalThis.wordMap")
    page.evaluate(
        """() => { document.head.append(Object.assign(document.createElement("script"),
        { textContent: "globalThis.intruder = 1" }));
        document.body.insertAdjacentHTML("beforeend", "<p id=p style='position:fixed'>x</p>"); }"""
    )
    assert page.evaluate("globalThis.intruder") is None
    assert page.evaluate("getComputedStyle(document.getElementById('p')).position") == "static"
    assert page.evaluate("fetch('https://example.org').then(() => 'sent', () => 'blocked')") == (
        "blocked"
    )
    page.close()


def test_an_address_opens_a_word(open_page: Callable[..., Any], file: Path) -> None:
    page = open_page(file, address="#queen").page
    assert page.locator("#answer-title").text_content() == "Nearest to queen"
    page = open_page(file, address="#100%").page
    assert "“100%”" in page.get_by_role("status").text_content()


@pytest.mark.parametrize(("count", "dim"), [(1, 1), (1, 5), (2, 1), (2, 2), (3, 300)])
def test_tiny_maps(count: int, dim: int, open_page: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "tiny.html"
    model = small_model([f"w{row}" for row in range(count)], dim=dim)
    save_map(path, build_map(Vectors(model.E, model.vocabulary)))
    page = open_page(path).page
    page.get_by_label("Find a word").fill("w0")
    page.keyboard.press("Enter")
    assert len(listed(page)) == count - 1
    page.evaluate("wordMap.zoom(100); wordMap.draw()")
    assert page.evaluate("Number.isFinite(wordMap.camera.scale)")


def test_words_at_one_place(open_page: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "same.html"
    model = small_model([f"w{row}" for row in range(30)], dim=4)
    model.E[:] = 1
    save_map(path, build_map(Vectors(model.E, model.vocabulary)))
    page = open_page(path).page
    page.get_by_label("Find a word").fill("w3")
    page.keyboard.press("Enter")
    assert [cosine for _, cosine in listed(page)] == [1] * 10
    assert page.evaluate("wordMap.labels.shown().length") == 1
