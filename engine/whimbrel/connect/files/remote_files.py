"""Resolution of addresses to files of object stores and web servers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from whimbrel.connect.addresses import shown_address, without_secrets
from whimbrel.connect.files.data_file import RemoteFile, status_of
from whimbrel.connect.files.natural_sort import natural_path
from whimbrel.connect.files.paths import has_ending
from whimbrel.connect.files.remote_failures import unknown_failure
from whimbrel.errors import SourceError, near_match

if TYPE_CHECKING:
    from pyarrow import fs

_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_AZURE = ("abfs", "abfss")
_ARROW = ("s3", "gs", *_AZURE)
_WEB = ("http", "https")
_OPTIONS = ("endpoint_override", "region", "scheme", "tls_ca_file_path")
_UNKNOWN_OPTION = re.compile(r"Unexpected query parameter in \w+ URI: '(.*)'")
_MAGIC = re.compile(r"[*\[]")
_PARTS = re.compile(r"\*\*/|\*\*|\*|\[!?[^\]]+\]|.", re.DOTALL)


class _Place(NamedTuple):
    """A path in a file system, and what an address without secrets begins with."""

    system: fs.FileSystem
    path: str
    root: str
    scheme: str

    def file(self, path: str, status: tuple[int, int] | None = None) -> RemoteFile:
        shown = without_secrets(path) if self.scheme in _WEB else self.root + path
        return RemoteFile(self.system, path, shown, status)


def remote_files(address: str, *, where: str, endings: Sequence[str],
                 filesystem: Any = None) -> tuple[list[RemoteFile], RemoteFile | None, str]:
    """List the files of an address, a directory or a pattern, with their directory and a name.

    The directory of a pattern is that above the first part that varies.

    Parameters
    ----------
    address : str
        Such as ``s3://bucket/folder/*.parquet``; with `filesystem` a path in it.
    where : str
        The user's call, without secrets.
    endings : sequence of str
        Endings of names in a directory.
    filesystem : pyarrow.fs.FileSystem or fsspec.AbstractFileSystem, optional
        Default: that of the scheme of the address, with the credentials of the environment.

    Raises
    ------
    SourceError
        If no file exists, the server denies access or does not answer.
    """
    place = _place(address, filesystem, where)
    shown = place.file(place.path)
    try:
        if place.scheme not in _WEB and _MAGIC.search(place.path):
            files, above = _matches(place, endings, where)
            return files, above, files[0].stem
        info = place.system.get_file_info(place.path)
        if info.is_file:
            return [place.file(place.path, status_of(info))], None, shown.stem
        files = _in_directory(place, endings) if place.scheme not in _WEB else []
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - file systems of fsspec raise what their libraries do
        raise unknown_failure(str(shown), error, where) from None
    if not files:
        raise _missing(place, shown, endings, where)
    return files, shown, shown.stem


def _in_directory(place: _Place, endings: Sequence[str]) -> list[RemoteFile]:
    """Files of a directory with these endings; none if it does not exist."""
    try:
        listed = _listed(place, place.path)
    except FileNotFoundError:
        return []
    return sorted((file for file in listed if _stands_for(place.path, file, endings)), key=natural_path)


def _stands_for(directory: str, file: RemoteFile, endings: Sequence[str]) -> bool:
    """Whether a directory stands for a file in it, by its names."""
    inside = file.key.strip("/")[len(directory.strip("/")) + 1:].split("/")
    return has_ending(file.name, endings) and not any(part[:1] in (".", "_") for part in inside)


def _matches(place: _Place, endings: Sequence[str], where: str) -> tuple[list[RemoteFile], RemoteFile]:
    """Files of a pattern, or those of directories if it matches no file; and the directory above what varies."""
    parts = place.path.split("/")
    first = next(number for number, part in enumerate(parts) if _MAGIC.search(part))
    if first == 0:
        raise SourceError(f"The bucket of {str(place.file(place.path))!r} must not be a pattern.", where=where,
                          hint="Use patterns only after the name of the bucket.")
    pattern = re.compile("".join(map(_regex, _PARTS.findall(place.path.strip("/")))))
    above = "/".join(parts[:first])
    try:
        listed = _listed(place, above)
    except FileNotFoundError:
        listed = []
    files = sorted((file for file in listed if pattern.fullmatch(file.key.strip("/"))), key=natural_path)
    files = files or sorted((file for file in listed for folder in _folders(file.key) if pattern.fullmatch(folder)
                             and _stands_for(folder, file, endings)), key=natural_path)
    if not files:
        raise SourceError(f"No file matches {str(place.file(place.path))!r}.", where=where, hint="Check the pattern.")
    return list(dict.fromkeys(files)), place.file(above)


def _folders(key: str) -> Iterator[str]:
    """Paths of the directories that a file is in."""
    parts = key.strip("/").split("/")
    yield from ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _regex(part: str) -> str:
    match part:
        case "**/":
            return "(?:.*/)?"
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
    if part[0] == "[" and len(part) > 1:
        return part.replace("[!", "[^")
    return re.escape(part)


def _listed(place: _Place, directory: str, *, recursive: bool = True) -> list[RemoteFile]:
    from pyarrow import fs

    found = place.system.get_file_info(fs.FileSelector(directory, recursive=recursive, allow_not_found=False))
    return [place.file(info.path, status_of(info)) for info in found if info.is_file]


def _missing(place: _Place, shown: RemoteFile, endings: Sequence[str], where: str) -> SourceError:
    """The error that names what is missing: a file of a folder, or all files of it."""
    hint = "Check the address."
    if place.scheme not in _WEB:
        folder = place.path.rstrip("/").rpartition("/")[0]
        try:
            names = [file.name for file in _listed(place, folder, recursive=False)] if folder else []
        except Exception:  # noqa: BLE001 - only the hint is worse
            names = []
        hint = near_match(shown.name, sorted(names), noun="file") if names else hint
    if place.scheme in _WEB or has_ending(place.path, endings):
        return SourceError(f"There is no file {str(shown)!r}.", where=where, hint=hint)
    return SourceError(f"There is no {endings[0]} file in {str(shown)!r}.", where=where, hint=hint)


def _place(address: str, filesystem: Any, where: str) -> _Place:
    if filesystem is not None:
        return _given(address, filesystem, where)
    scheme, _, rest = address.partition("://")
    scheme = _SAME.get(scheme.lower(), scheme.lower())
    if scheme in _WEB:
        from pyarrow import fs

        from whimbrel.connect.files.web_files import WebFiles

        return _Place(fs.PyFileSystem(WebFiles()), address, "", scheme)
    rest, _, query = rest.partition("?")
    bucket, _, inside = rest.partition("/")
    inside = inside.rstrip("/")
    if ":" in bucket and "@" not in bucket and "@" in inside:
        raise SourceError(f"The key in the address {shown_address(address)!r} has a character that ends it.",
                          where=where, hint="Write / in a key as %2F, or use filesystem=.")
    try:
        system, base = file_system(scheme, bucket, query, where=where)
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - file systems of fsspec raise what their libraries do
        raise unknown_failure(shown_address(address), error, where) from None
    path = "/".join(filter(None, (base.rstrip("/"), inside)))
    host = bucket.rpartition("@")[2]  # of Azure, where the path begins with the container
    account = f"{host}/" if scheme in _AZURE else ""
    return _Place(system, path, f"{scheme}://{account}", scheme)


def file_system(scheme: str, bucket: str, query: str, *, where: str) -> tuple[fs.FileSystem, str]:
    """File system of a bucket, and the path of the bucket in it.

    Parameters
    ----------
    scheme : str
    bucket : str
        What is between the scheme and the first slash, with the user.
    query : str
        Options of the file system.
    where : str
        The user's call, without secrets.

    Raises
    ------
    SourceError
        If no file system has this scheme, or it has no such option.
    """
    from pyarrow import fs

    if scheme in _ARROW:
        try:
            system, base = fs.FileSystem.from_uri(f"{scheme}://{bucket}" + (f"?{query}" if query else ""))
        except pa.ArrowInvalid as error:
            if (unknown := _UNKNOWN_OPTION.search(str(error))) is None:
                raise
            raise SourceError(f"{scheme}:// has no option {unknown[1]!r}.", where=where,
                              hint=near_match(unknown[1], _OPTIONS, noun="option") if scheme == "s3" else
                              "Remove it from the address, or use filesystem=.") from None
        return (_with_account_key(system, bucket) if scheme in _AZURE else system), base
    if scheme == "az":
        account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
        if not account:
            raise SourceError("az:// needs the name of the storage account.", where=where,
                              hint="Set AZURE_STORAGE_ACCOUNT_NAME, or use filesystem=pyarrow.fs.AzureFileSystem(...).")
        return fs.AzureFileSystem(account, account_key=os.environ.get("AZURE_STORAGE_ACCOUNT_KEY")), bucket
    try:
        import fsspec

        return fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem(scheme))), bucket
    except (ImportError, ValueError) as error:
        if isinstance(error, ValueError) and "not known" not in str(error):
            raise
        raise SourceError(f"No file system is known for {scheme}://.", where=where,
                          hint="Use s3://, gs://, az:// or https://, or pip install 'whimbrel[fsspec]' and the package "
                               f"of fsspec for {scheme}://.") from None


def _with_account_key(system: fs.AzureFileSystem, bucket: str) -> fs.AzureFileSystem:
    """The same, with the key of the address or else of the environment: Arrow reads neither."""
    from pyarrow import fs

    options = {name: value for name, value in system.__reduce__()[1][0].items() if value}
    if {"sas_token", "client_id"} & options.keys():
        return system
    key = unquote(bucket.rpartition("@")[0].partition(":")[2])
    if not key and os.environ.get("AZURE_STORAGE_ACCOUNT_NAME") in (None, options["account_name"]):
        key = os.environ.get("AZURE_STORAGE_ACCOUNT_KEY", "")
    return fs.AzureFileSystem(**options, account_key=key) if key else system


def _given(path: str, filesystem: Any, where: str) -> _Place:
    from pyarrow import fs

    if not isinstance(filesystem, fs.FileSystem):
        if not hasattr(filesystem, "protocol"):
            raise SourceError(f"filesystem must be one of pyarrow.fs or fsspec, got {type(filesystem).__name__}.",
                              where=where, hint="Use for example pyarrow.fs.S3FileSystem(...).")
        filesystem = fs.PyFileSystem(fs.FSSpecHandler(filesystem))
    name = re.split("[+:]", filesystem.type_name)[-1]
    scheme, found, rest = path.partition("://")
    return _Place(filesystem, (rest if found else path).rstrip("/"), f"{scheme if found else name}://", "given")
