"""Errors of object stores and web servers in other words."""

from __future__ import annotations

import re

from whimbrel.connect.addresses import without_secrets
from whimbrel.errors import SourceError

_DENIED = re.compile(
    r"ACCESS_DENIED|AccessDenied|INVALID_ACCESS_KEY|InvalidAccessKey|SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|"
    r"HTTP Error 40[137]|HTTP status 40[13]|Forbidden|Unauthorized|PERMISSION_DENIED|AuthenticationFailed|"
    r"AuthorizationFailure|EXPIRED_TOKEN|UNRECOGNIZED_CLIENT|MISSING_AUTHENTICATION", re.IGNORECASE)
_CURL = re.compile(r"^.*CURL error \[\d+\]=")
_NO_CREDENTIALS = re.compile(r"OAuth2 access token|AuthenticationException|CredentialUnavailable|default credentials")
_CREDENTIALS = {
    "gs": "Set GOOGLE_APPLICATION_CREDENTIALS to the file of a key, or use gs://anonymous@bucket/... for public files.",
    "abfs": "Use abfss://:KEY@account.blob.core.windows.net/container/..., or sign in with az login."}
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|bucket does not exist|Bucket not found",
                        re.IGNORECASE)
_NO_FILE = re.compile(r"Path does not exist|NO_SUCH_KEY|NoSuchKey|HTTP Error 4(04|10)|BlobNotFound|No such file")
_NO_SERVER = re.compile(
    r"NETWORK_CONNECTION|curlCode|Could not connect|Connection refused|timed out|Name or service not known|"
    r"Could not resolve|Temporary failure in name resolution|urlopen error|HTTP Error 5\d\d|Network is unreachable",
    re.IGNORECASE)


def remote_failure(shown: str, error: BaseException, where: str) -> SourceError | None:
    """The error of a server in other words; None if it is about the bytes of the file.

    Parameters
    ----------
    shown : str
        The address without secrets.
    error : BaseException
    where : str
        The user's call.

    Examples
    --------
    >>> remote_failure("s3://logs/a.csv", OSError("AWS Error NO_SUCH_BUCKET during ListObjectsV2"), "").what
    "There is no bucket 'logs'."
    """
    said, scheme = str(error), shown.partition("://")[0]
    if _DENIED.search(said):
        rights = ("Use a key with the permissions s3:GetObject and, for folders and patterns, s3:ListBucket."
                  if scheme == "s3" else "Check the user, key or token, and its permissions.")
        return SourceError(f"The server denied access to {shown!r}.", where=where, hint=rights)
    if _NO_CREDENTIALS.search(said):
        return SourceError(f"There are no credentials for {shown!r}.", where=where,
                           hint=_CREDENTIALS.get("abfs" if scheme in {"abfs", "abfss"} else scheme,
                                                 "Set AZURE_STORAGE_ACCOUNT_KEY, or sign in with az login."))
    if _NO_BUCKET.search(said):
        bucket = shown.partition("://")[2].partition("/")[0]
        return SourceError(f"There is no bucket {bucket!r}.", where=where,
                           hint="Check the name of the bucket, and the endpoint and region if they are not those of "
                                "the environment.")
    if _NO_FILE.search(said):
        return SourceError(f"There is no file {shown!r}.", where=where,
                           hint="Check the address; the file may have been removed.")
    if _NO_SERVER.search(said):
        return SourceError(f"The server of {shown!r} does not answer: {_cause(error)}.", where=where,
                           hint="Check the endpoint, the network and the proxy, then try again.")
    return None


def unknown_failure(shown: str, error: BaseException, where: str) -> SourceError:
    """The error of a server in its own words, without secrets."""
    return remote_failure(shown, error, where) or SourceError(
        f"Cannot read {shown!r}: {_cause(error)}.", where=where, hint="Check the address and its options.")


def _cause(error: BaseException) -> str:
    text = " ".join(str(error).split())
    text = text.partition(" with a last message of ")[2].partition(" error_info")[0] or text  # of Google's client
    text = _CURL.sub("", text)
    text = without_secrets(text.partition("Details: ")[2] or text)
    return text.removeprefix("<urlopen error ").rstrip(".>")[:160]
