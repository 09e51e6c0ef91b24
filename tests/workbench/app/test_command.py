"""``whimbrel serve`` and ``whimbrel demo`` as they are typed."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.workbench.app.serving import command
from tests.workbench.app.test_script import QUERY
from whimbrel.__main__ import main


@pytest.mark.parametrize(("arguments", "what"), (
    (("app.txt",), "must be a .py script"),
    (("app.py", "--address", "0.0.0.0"), "must name the host by which browsers reach it"),
    (("app.py", "--address", "0.0.0.0", "--allow-origin", "wall.example", "--no-token"), "must have a token"),
    (("app.py", "--allow-origin", "*"), "must be a host and its port"),
))
def test_what_cannot_be_served_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str,
                                                arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(f"{QUERY}\ncounts\n", encoding="utf-8")
    assert main(["serve", *arguments]) == 1
    said = capsys.readouterr().err
    assert what in said
    assert len(said.splitlines()) <= 8


def test_a_script_is_served_with_a_token_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHIMBREL_TOKEN", "my-own-token")
    drains = ("import atexit\nimport whimbrel as wb\n"
              "options = {'sink': wb.sinks.parquet('out'), 'checkpoints': wb.Checkpoints('state', every='1h')}\n"
              "run = wb.feeds.synthetic(rate=10).start(**options)\n"
              "atexit.register(run.stop, drain=True)\n")
    (tmp_path / "app.py").write_text(f"{QUERY}\n{drains}\ncounts\n", encoding="utf-8")
    with command("serve", "app.py", folder=tmp_path) as url:
        assert url.endswith("?token=my-own-token")
        address = urlsplit(url)
        assert address.hostname == "127.0.0.1"
        connection = http.client.HTTPConnection(address.netloc, timeout=30)
        connection.request("GET", "/")
        assert connection.getresponse().status == 403
        connection.close()
        (tmp_path / "app.py").write_text(f"{QUERY}\ncounts\n", encoding="utf-8")
        # In a process of its own: Tornado leaves a socket that it could not bind to the garbage collector.
        again = [sys.executable, "-m", "whimbrel", "serve", "app.py", "--port", str(address.port)]
        done = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"Cannot listen on 127.0.0.1:{address.port}" in done.stderr
    assert list((tmp_path / "state").glob("0*")), "it was ended by its signal before the run was drained"
