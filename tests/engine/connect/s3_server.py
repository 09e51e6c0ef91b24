"""A server with the interface of S3, by moto."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.engine.connect.feeds.servers import free_port

SECRET = "sEcReT/1234"


class S3Server:
    """Buckets of a server. `options` end an address, `user` begins it."""

    def __init__(self, port: int) -> None:
        import boto3

        self.endpoint = f"127.0.0.1:{port}"
        self.options = f"?endpoint_override={self.endpoint}&scheme=http&region=us-east-1"
        self.user = f"ann:{SECRET.replace('/', '%2F')}@"
        named = {"endpoint_url": f"http://{self.endpoint}", "region_name": "us-east-1", "aws_access_key_id": "ann",
                 "aws_secret_access_key": SECRET}
        self.client, self._iam = boto3.client("s3", **named), boto3.client("iam", **named)

    def address(self, path: str) -> str:
        return f"s3://{self.user}{path}{self.options}"

    def key_without_permissions(self) -> dict[str, Any]:
        """Arguments of a file system of a user that may do nothing."""
        self._iam.create_user(UserName="bob")
        key = self._iam.create_access_key(UserName="bob")["AccessKey"]
        return {"access_key": key["AccessKeyId"], "secret_key": key["SecretAccessKey"], "scheme": "http",
                "endpoint_override": self.endpoint, "region": "us-east-1"}

    @contextmanager
    def checks_permissions(self) -> Iterator[None]:
        self._check_after("0")
        try:
            yield
        finally:
            self._check_after("inf")

    def _check_after(self, requests: str) -> None:
        request = urllib.request.Request(f"http://{self.endpoint}/moto-api/reset-auth", data=requests.encode(),
                                         headers={"Content-Type": "application/octet-stream"})
        urllib.request.urlopen(request).close()


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Start a server in a process of its own: some clients hold Python's lock while they wait for an answer."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
                break
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        yield S3Server(port)
    finally:
        process.terminate()
        process.wait()
