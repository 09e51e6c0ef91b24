"""Real servers for tests: on free loopback ports, in folders of their own, ended by their process."""

from __future__ import annotations

import base64
import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg

from tests.conftest import KAFKA_JARS, found

_START_S = 60.0
_TRIES = 5


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Server:
    """A server process that can be stopped and started again on the same port, with the same data."""

    def __init__(self, program: str, arguments: Callable[[int, Path], list[str]], folder: Path) -> None:
        path = found(program)
        assert path is not None, f"{program} is not installed"
        self.path, self.folder, self._arguments = path, folder, arguments
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def start(self) -> None:
        """Start it, on another port if the first is taken meanwhile."""
        for _ in range(_TRIES):
            self.port = self.port or free_port()
            with (self.folder / "log").open("ab") as log:
                self._process = subprocess.Popen([str(self.path), *self._arguments(self.port, self.folder)],
                                                 stdout=log, stderr=log, cwd=self.folder, **_as_somebody(self.path))
            if self._listens():
                return
            self.stop()
        raise AssertionError((self.folder / "log").read_text())

    def _listens(self) -> bool:
        end = time.monotonic() + _START_S
        while time.monotonic() < end and self._process is not None and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.5):
                return True
            time.sleep(0.02)
        return False

    def _all(self, how: signal.Signals) -> None:
        """Send a signal to the process and to those that it started."""
        assert self._process is not None
        own = self._process.pid
        for each in (own, *map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split())):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, how)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """It keeps its connections meanwhile, and says nothing."""
        self._all(signal.SIGSTOP)
        try:
            yield
        finally:
            self._all(signal.SIGCONT)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process, and wait for it."""
        if self._process is not None:
            self._process.send_signal(how)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


@contextlib.contextmanager
def running(server: Server) -> Iterator[Server]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


def redis(folder: Path) -> Server:
    return Server("redis-server", lambda port, folder: [
        "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--appendonly", "yes", "--save", "",
        "--daemonize", "no", "--proto-max-bulk-len", "64mb"], folder)


def mosquitto(folder: Path, further: str = "") -> Server:
    def arguments(port: int, folder: Path) -> list[str]:
        (folder / "mosquitto.conf").write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/\n"
            f"max_queued_messages 0\nuser {getpass.getuser()}\n{further}")
        return ["-c", str(folder / "mosquitto.conf")]

    return Server("mosquitto", arguments, folder)


def nats(folder: Path) -> Server:
    def arguments(port: int, folder: Path) -> list[str]:
        (folder / "nats.conf").write_text("max_payload: 64MB\n")
        return ["-c", str(folder / "nats.conf"), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)]

    return Server("nats-server", arguments, folder)


def postgres(folder: Path) -> Server:
    data = folder / "data"
    initdb = found("initdb")
    assert initdb is not None
    folder.mkdir(parents=True, exist_ok=True)
    if os.getuid() == 0:  # PostgreSQL does not run as root; a folder of a user's own below one that is not
        for each in (folder, *folder.parents[:3]):
            each.chmod(each.stat().st_mode | 0o055)
        shutil.chown(folder, "postgres")
    if not data.exists():
        made = subprocess.run([str(initdb), "-D", str(data), "-U", "test", "-A", "trust", "-N", "--no-locale", "-E",
                               "UTF8"], check=False, capture_output=True, text=True, cwd=folder, **_as_somebody(initdb))
        assert made.returncode == 0, made.stderr
    return Server("postgres", lambda port, _: [
        "-D", str(data), "-p", str(port), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c",
        "wal_level=logical", "-c", "max_replication_slots=20", "-k", ""], folder)


def postgres_url(server: Server) -> str:
    return f"postgresql://test:hunter2@127.0.0.1:{server.port}/postgres"


def accepts(url: str) -> bool:
    """Whether PostgreSQL does more than listen."""
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def kafka(folder: Path, relay: int | None = None) -> Server:
    """A broker that is its own controller; it may send clients to the port of a relay before it."""
    java = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{KAFKA_JARS}/*"]
    controller = free_port()

    def arguments(port: int, folder: Path) -> list[str]:
        config = folder / "server.properties"
        config.write_text(
            "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters=1@127.0.0.1:{controller}\nlog.dirs={folder}/data\n"
            f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{relay or port}\n"
            "offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
            "transaction.state.log.num.partitions=1\ngroup.initial.rebalance.delay.ms=0\n"
            "broker.session.timeout.ms=2000\nbroker.heartbeat.interval.ms=200\n")  # so long a killed one is waited for
        if not (folder / "data").exists():
            made = subprocess.run(["java", *java, "kafka.tools.StorageTool", "format", "-c", str(config),
                                   f"--cluster-id={base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:22]}"],
                                  check=False, capture_output=True, text=True, cwd=folder)
            assert made.returncode == 0, made.stderr
        return [*java, "kafka.Kafka", str(config)]

    return Server("java", arguments, folder)


def _as_somebody(program: Path) -> dict[str, object]:
    root = os.getuid() == 0 and "postgres" in str(program.resolve())
    return {"user": "postgres", "group": "postgres"} if root else {}
