"""Conformance cases of a folder, run through the public API: ``python -m whimbrel.testing.conformance DIR``."""

from whimbrel.testing.conformance.case import Case, read_cases
from whimbrel.testing.conformance.run import Circumstance, Verdict, circumstances, judge

__all__ = ["Case", "Circumstance", "Verdict", "circumstances", "judge", "read_cases"]
