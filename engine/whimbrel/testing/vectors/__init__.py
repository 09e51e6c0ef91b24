"""Conformance cases of a folder, run through the public API: ``python -m whimbrel.testing.vectors DIR``."""

from whimbrel.testing.vectors.case import Case, read_cases
from whimbrel.testing.vectors.run import Circumstance, Verdict, circumstances, judge

__all__ = ["Case", "Circumstance", "Verdict", "circumstances", "judge", "read_cases"]
