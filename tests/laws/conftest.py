"""How many examples the laws try: few and always the same ones in ``make test``, many new ones in ``make laws``."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

settings.register_profile("ci", derandomize=True, database=None, deadline=None, max_examples=40, print_blob=False,
                          phases=[Phase.generate, Phase.shrink],
                          suppress_health_check=[HealthCheck.too_slow])
EXAMPLES = int(os.environ.get("WHIMBREL_EXAMPLES") or 2000)
settings.register_profile("nightly", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])

PROFILE = os.environ.get("WHIMBREL_HYPOTHESIS", "ci")
settings.load_profile(PROFILE)

DEEP_PLANS = 5 * EXAMPLES if PROFILE == "nightly" else 100
"""How many random plans of up to six steps are held against the oracle."""
