"""A real JupyterLab on a free local port, and a real browser without internet in front of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, Error, Locator, Page, sync_playwright

LOCAL = "127.0.0.1"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
         f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {LOCAL}"]
QUIET = {
    "notification": {"fetchNews": "false", "checkForUpdates": False},
    "themes": {"theme": "JupyterLab Light"},
}
START_S = 120
ALL_TEXT = """function text(node) {
  const inside = [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]
  if (["STYLE", "SCRIPT"].includes(node.nodeName)) return ""
  return (node.nodeType === Node.TEXT_NODE ? node.data : "") + inside.map(text).join(" ")
}"""


class Lab:
    """A running server and its folder of notebooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "notebooks"
        self.folder.mkdir()
        with socket.socket() as probe:
            probe.bind((LOCAL, 0))
            self.url = f"http://{LOCAL}:{probe.getsockname()[1]}"
        settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        for name, values in QUIET.items():
            (settings / f"{name}.jupyterlab-settings").write_text(json.dumps(values), encoding="utf-8")
        homes = {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
                 "IPYTHONDIR": "ipython", "JUPYTER_RUNTIME_DIR": "runtime", "JUPYTER_CONFIG_DIR": "config"}
        self._log = (folder / "log.txt").open("wb")
        self._server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={self.url.rsplit(':', 1)[1]}",
             "--port-retries=0", f"--ServerApp.ip={LOCAL}", "--IdentityProvider.token=", "--ServerApp.password=",
             "--ServerApp.disable_check_xsrf=True", "--LabApp.expose_app_in_browser=True",
             f"--ServerApp.root_dir={self.folder}"],
            env=os.environ | {name: str(folder / where) for name, where in homes.items()},
            cwd=self.folder, stdout=self._log, stderr=subprocess.STDOUT,
        )
        self._wait(folder / "log.txt")

    def _wait(self, log: Path) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._server.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/api", timeout=5):
                return
            time.sleep(0.1)
        raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')[-2000:]}")

    def write(self, name: str, cells: list[str]) -> None:
        """A notebook with these code cells."""
        written = [{"cell_type": "code", "id": f"cell-{number}", "metadata": {}, "source": source, "outputs": [],
                    "execution_count": None} for number, source in enumerate(cells)]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = {"cells": written, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        (self.folder / name).write_text(json.dumps(notebook), encoding="utf-8")

    def read(self, name: str) -> dict:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def end_kernels(self) -> None:
        with urllib.request.urlopen(f"{self.url}/api/sessions") as answer:
            sessions = json.load(answer)
        for session in sessions:
            request = urllib.request.Request(f"{self.url}/api/sessions/{session['id']}", method="DELETE")
            urllib.request.urlopen(request).close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.end_kernels()
        self._server.terminate()
        self._server.wait(30)
        self._log.close()


class Notebook:
    """An open notebook."""

    def __init__(self, lab: Lab, page: Page, name: str) -> None:
        self.lab, self.page, self.name = lab, page, name
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda said: self.problems.append(said.text) if "isn't known" in said.text else None)
        self.open()

    def open(self) -> None:
        """Load the page again, without the layout of before."""
        self.page.goto(f"{self.lab.url}/lab/tree/{self.name}?reset")
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=START_S * 1000)
        idle = self.page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")
        idle.wait_for(state="attached", timeout=START_S * 1000)  # a narrow page has no room to show it
        time.sleep(2)  # Lab says idle a little before it listens to keys

    def cell(self, number: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(number)

    def run(self, number: int) -> float:
        """Run a cell to its end; seconds from the key to the answer on the page."""
        cell = self.cell(number)
        cell.locator(".jp-InputArea-editor").click()
        before = cell.locator(".jp-InputArea-prompt").inner_text()
        began = time.perf_counter()
        self.page.keyboard.press("Shift+Enter")
        if number == 0 and not self._ran(cell, before):  # Lab may not have listened yet
            cell.locator(".jp-InputArea-editor").click()
            self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(
            """([cell, before]) => { const prompt = cell.querySelector(".jp-InputArea-prompt").innerText
                 return prompt !== before && /\\[\\d+\\]/.test(prompt) }""",
            arg=[cell.element_handle(), before], polling=5, timeout=START_S * 1000,
        )
        return time.perf_counter() - began

    def _ran(self, cell: Locator, before: str) -> bool:
        """Whether a cell began to run within some seconds."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if cell.locator(".jp-InputArea-prompt").inner_text() != before:
                return True
            time.sleep(0.1)
        return False

    def output(self, number: int) -> str:
        """All text of a cell's outputs, that inside of components included."""
        return self.cell(number).locator(".jp-OutputArea").evaluate(ALL_TEXT)

    def wait_for_text(self, number: int, text: str, timeout_s: float = 60) -> None:
        found = self.cell(number).locator(".jp-OutputArea").get_by_text(re.compile(text)).locator("visible=true").first
        found.wait_for(timeout=timeout_s * 1000)

    def wait_for_chart(self, number: int) -> Locator:
        """The chart of a cell, once the browser has drawn it."""
        chart = self.cell(number).locator(".bk-Figure").first
        chart.wait_for(timeout=START_S * 1000)
        return chart

    def screenshot(self, chart: Locator) -> bytes:
        """The pixels of a chart now; a second attempt if the page was just laid out again."""
        with contextlib.suppress(Error):
            return chart.screenshot()
        return chart.screenshot()

    def wait_for_change(self, chart: Locator, since: bytes, timeout_s: float = 30) -> None:
        """Wait until a chart looks different."""
        deadline = time.monotonic() + timeout_s
        while self.screenshot(chart) == since:
            assert time.monotonic() < deadline, "the chart does not move"
            time.sleep(0.5)

    def press(self, number: int, button: str) -> None:
        self.cell(number).get_by_role("button", name=button, exact=True).click()

    def theme(self, name: str) -> None:
        """Change the theme: "Light" or "Dark"."""
        self.page.evaluate("name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})",
                           f"JupyterLab {name}")
        self.page.locator(f"body[data-jp-theme-light={str(name == 'Light').lower()}]").wait_for(state="attached")

    def save(self) -> dict:
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+s")
        time.sleep(2)
        return self.lab.read(self.name)

    def picture(self, name: str, folder: Path) -> None:
        """A screenshot of the whole page, for people to look at."""
        kept = Path(os.environ.get("WHIMBREL_SCREENSHOTS", folder))
        kept.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=kept / f"{name}.png")


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    path = next(found for found in map(shutil.which, BROWSERS) if found)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


Open = Callable[..., Notebook]
"""From the cells of a notebook, after one that makes a log, to the open notebook."""
