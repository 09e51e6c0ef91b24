"""What is shown can be kept as a file: whole, or not at all."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import Browser

import whimbrel as wb
from tests.workbench.results import hourly
from whimbrel_workbench.frames import PLAIN, FrameBuilder, Options, Result
from whimbrel_workbench.frames.estimate_quality import Bound, Quality
from whimbrel_workbench.views import export
from whimbrel_workbench.views.estimate_quality import quality_html
from whimbrel_workbench.views.palette import MARKERS
from whimbrel_workbench.views.svg import WIDTH_PX, dot
from whimbrel_workbench.views.svg_cells import heat_svg, scatter_svg
from whimbrel_workbench.views.svg_charts import bars_svg, lines_svg

# Panel's widgets will have another name for their name, one day.
pytestmark = pytest.mark.filterwarnings("ignore:Widget.name is deprecated")

SKETCHES = {"line": lines_svg, "bar": bars_svg, "heatmap": heat_svg, "scatter": scatter_svg}
LOG = wb.from_arrow(pa.table({"at": list(range(1000)), "gate": ["A1", "<b>"] * 500}), time="at", name="passengers")
COUNTS = LOG.group_by("gate").tumbling_window(100).aggregate(n=wb.count())


def test_a_page_has_values_coverage_watermark_and_query_and_asks_nobody_for_anything(tmp_path: Path) -> None:
    page = COUNTS.view(kind="table", title="Passengers & gates").save(tmp_path / "counts.html")
    html = page.read_text(encoding="utf-8")
    for words in ("<title>Passengers &amp; gates</title>", "&lt;b&gt;", ">50<", "100% read", "watermark complete",
                  "tumbling_window(100)", "passengers", f"whimbrel {wb.__version__}"):
        assert words in html
    for outside in ("<script", "http", "@import", "url("):
        assert outside not in html
    assert list(tmp_path.iterdir()) == [page]


def test_a_view_that_is_nowhere_is_not_drawn_on_and_on(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    COUNTS.view().save(tmp_path / "counts.html")
    drawing = [thread for thread in set(threading.enumerate()) - before if thread.name == "whimbrel-view"]
    for thread in drawing:
        thread.join(10)
    assert not any(thread.is_alive() for thread in drawing)


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["line", "table"])
def test_a_picture_shows_what_the_page_shows(tmp_path: Path, chromium: Browser, kind: str) -> None:
    view = COUNTS.view(kind=kind)
    page, picture = view.save(tmp_path / "counts.html"), view.save(tmp_path / "counts.png")
    opened = chromium.new_page(viewport={"width": export._WIDTH_PX, "height": 600}, device_scale_factor=2)
    opened.goto(page.as_uri())
    assert opened.locator("details[open]").get_by_text("tumbling_window").is_visible()
    same = opened.locator("body").screenshot() == picture.read_bytes()
    assert same  # pytest would take minutes to show how the bytes differ


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = COUNTS.view(kind="number")
    page = view.save(tmp_path / "counts.html")
    before = page.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(export.SaveError, match="No space left on device"):
        view.save(page)
    assert (list(tmp_path.iterdir()), page.read_bytes()) == ([page], before)


@pytest.mark.parametrize(("name", "hint"), [("counts.pdf", ".png"), ("counts", ".html")])
def test_an_ending_that_means_nothing_says_which_do(tmp_path: Path, name: str, hint: str) -> None:
    with pytest.raises(export.SaveError, match="must end with") as error:
        COUNTS.view().save(tmp_path / name)
    assert hint in error.value.what
    assert name in error.value.where


def test_no_browser_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export.shutil, "which", lambda _name: str(tmp_path / "no browser"))
    with pytest.raises(export.SaveError, match="needs a browser") as error:
        COUNTS.view().save(tmp_path / "counts.png")
    assert error.value.hint == "Run playwright install chromium."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.share(4)
@pytest.mark.browser
@pytest.mark.parametrize("kind", ["line", "bar", "heatmap", "scatter"])
@pytest.mark.parametrize("font", ["sans-serif", "monospace"])
def test_no_words_of_a_saved_chart_are_cut(chromium: Browser, kind: str, font: str) -> None:
    """The last date below a chart and long numbers at its side were cut off."""
    page = chromium.new_page()
    for hours in (5, 29, 100, 150):
        for size, last in ((1, "K"), (10**12, "K"), (1, "分類の長い名前です" * 5)):
            rows = hourly(**{"JFK": [size * (hour + 1) / 7 for hour in range(hours)], last: [size] * hours})
            drawn = FrameBuilder(Options(kind=kind)).picture(Result(rows, (2 * hours,)))
            style = f"<style>svg {{ width: 900px }} text {{ font-family: {font} }}</style>"
            page.set_content(style + SKETCHES[kind](drawn))
            ends = page.evaluate("""() => [...document.querySelectorAll("text")].map(each => each.getBBox())
                .map(box => [box.x, box.x + box.width])""")
            assert len(ends) > 3
            assert min(start for start, _ in ends) >= 0
            assert max(end for _, end in ends) <= WIDTH_PX


@pytest.mark.share(2)
@pytest.mark.browser
@pytest.mark.parametrize("title", ["Flights", "x" * 300])
def test_a_saved_page_fits_a_narrow_window(tmp_path: Path, chromium: Browser, title: str) -> None:
    """Its sentences and its query did not wrap."""
    view = COUNTS.view(title=title)
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    page.goto(view.save(tmp_path / "narrow.html").resolve().as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.long
@pytest.mark.browser
def test_the_curve_of_a_saved_bound_is_next_to_its_text(chromium: Browser) -> None:
    """A saved page has no style sheet for it, and the curve began where "95%" ended."""
    bounds = tuple(Bound(share, share, 0.1 / share) for share in (0.1, 0.2, 0.3))
    quality = Quality("delay", "both", rows=3, exact=0, known=3, half=0.01, confidence=0.95, unseen=0.1, why="",
                      history=bounds, goal=0.02, first="", final=False)
    page = chromium.new_page()
    page.set_content(quality_html(quality))
    words, curve = page.get_by_text("95% confidence").bounding_box(), page.locator("svg").bounding_box()
    assert curve["x"] >= words["x"] + words["width"] + 10


def test_a_saved_chart_has_the_markers_of_the_live_one() -> None:
    """All series were circles in the file, which only their colours distinguished."""
    drawn = [dot(0.0, 0.0, "#000", 1.0, number) for number in range(len(MARKERS))]
    assert drawn[0].startswith("<circle")
    assert len(set(drawn)) == len(MARKERS)
    picture = FrameBuilder(Options(), ()).picture(Result(hourly(JFK=[5, 6], LGA=[1, 2], EWR=[8, 9]), (2,)))
    assert lines_svg(picture, PLAIN).count("<circle") == 3  # two points and the key of the first line
