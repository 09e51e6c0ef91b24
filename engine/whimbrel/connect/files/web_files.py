"""File system of web servers, read by range requests."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any, NoReturn
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pyarrow as pa
from pyarrow import fs

from whimbrel.connect.addresses import without_user

_TIMEOUT_S = 30
_TRIES = 3
_WAIT_S = 0.2
_PARTIAL = 206


class NoRangesError(OSError):
    """A server that gives files only as a whole."""


class WebFiles(fs.FileSystemHandler):  # type: ignore[misc]
    """Files of web servers, whose paths are their addresses.

    Only what a query needs is requested, by ranges of bytes. A user and a password in an address are sent as basic
    authentication. A failed request is repeated twice.
    """

    def get_type_name(self) -> str:
        return "web"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [_info(path) for path in paths]

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(_response(path), mode="r")

    def open_input_file(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(_Ranges(path), mode="r")

    def get_file_info_selector(self, selector: fs.FileSelector) -> NoReturn:
        self._refuse()

    def create_dir(self, path: str, recursive: bool) -> NoReturn:
        self._refuse()

    def delete_dir(self, path: str) -> NoReturn:
        self._refuse()

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> NoReturn:
        self._refuse()

    def delete_root_dir_contents(self) -> NoReturn:
        self._refuse()

    def delete_file(self, path: str) -> NoReturn:
        self._refuse()

    def move(self, src: str, dest: str) -> NoReturn:
        self._refuse()

    def copy_file(self, src: str, dest: str) -> NoReturn:
        self._refuse()

    def open_output_stream(self, path: str, metadata: Any) -> NoReturn:
        self._refuse()

    def open_append_stream(self, path: str, metadata: Any) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise OSError("web servers list no files and take none")


class _Ranges:
    """A file that is read by requests of ranges of bytes."""

    closed = False

    def __init__(self, url: str) -> None:
        with _response(url, (0, 0)) as response:
            if response.status != _PARTIAL:
                raise NoRangesError("the server does not support range requests")
            self._size = _size(response)
        self._url, self._at = url, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        return self._size

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        stop = self._size if size < 0 else min(self._at + size, self._size)
        if stop <= self._at:
            return b""
        for attempt in range(_TRIES):
            try:
                with _response(self._url, (self._at, stop - 1)) as response:
                    data: bytes = response.read()
                break
            except HTTPException as error:  # the connection ended within the answer
                if attempt == _TRIES - 1:
                    raise OSError(f"the answer was cut: {error}") from error
        if len(data) != stop - self._at:
            raise OSError("the file changed while it was read")
        self._at = stop
        return data

    def close(self) -> None:
        self.closed = True


def _info(url: str) -> fs.FileInfo:
    try:
        with _response(url, (0, 0)) as response:
            size, changed = _size(response), response.headers.get("Last-Modified")
    except HTTPError as error:
        if error.code in (404, 410):
            return fs.FileInfo(url, fs.FileType.NotFound)
        raise
    return fs.FileInfo(url, fs.FileType.File, size=size, mtime=parsedate_to_datetime(changed) if changed else None)


def _size(response: Any) -> int:
    """Size of a whole file; -1 if the server does not say it."""
    if response.status == _PARTIAL:
        return int(response.headers["Content-Range"].rpartition("/")[2])
    return int(response.headers.get("Content-Length") or -1)


def _response(url: str, span: tuple[int, int] | None = None) -> Any:
    """Answer to a request of all or some bytes of a file; faults of the network and the server are tried again."""
    request = _request(url)
    if span is not None:
        request.add_header("Range", f"bytes={span[0]}-{span[1]}")
    for attempt in range(_TRIES):
        try:
            return urlopen(request, timeout=_TIMEOUT_S)  # noqa: S310 - only http and https come here
        except OSError as error:
            if isinstance(error, HTTPError):
                error.close()
                if error.code == 416:  # an empty file has no first byte
                    return _response(url)
                if error.code < 500:
                    raise
            if attempt == _TRIES - 1:
                raise
            time.sleep(_WAIT_S * 2 ** attempt)
    raise AssertionError


def _request(url: str) -> Request:
    address, headers = without_user(url)
    request = Request(address)  # noqa: S310 - only http and https come here
    for name, value in headers.items():
        request.add_unredirected_header(name, value)
    return request
