"""A server with the interface of S3, by moto."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.engine.connect.feeds.servers import free_port
from tests.engine.connect.server_process import server_process

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
    """Start a server."""
    port = free_port()
    with server_process(["-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port):
        yield S3Server(port)
