"""Conformance cases through the public API: ``python -m whimbrel.testing.conformance DIR``."""

from whimbrel.testing.conformance.case import Case, read_cases
from whimbrel.testing.conformance.run import CaseVerdict, Circumstance, circumstances, run_case

__all__ = ["Case", "CaseVerdict", "Circumstance", "circumstances", "read_cases", "run_case"]
