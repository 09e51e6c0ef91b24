"""The time zone that an unknown name is probably for."""

from __future__ import annotations

import difflib
from typing import Any
from zoneinfo import available_timezones


def timezone_hint(name: Any) -> str:
    """What to write instead of the unknown name of a time zone.

    Examples
    --------
    >>> timezone_hint("Europe/Berln"), timezone_hint("new york")
    ('Use "Europe/Berlin".', 'Use "America/New_York".')
    >>> timezone_hint("CEST")
    'Use a name of the IANA database, such as "Europe/Berlin" or "UTC".'
    """
    asked = str(name).casefold().replace(" ", "_")
    zones = sorted(available_timezones())
    known = {each.rpartition("/")[2].casefold(): each for each in zones} | {each.casefold(): each for each in zones}
    # abbreviations are alike by chance: CEST is not EST
    close = [asked] if asked in known else difflib.get_close_matches(
        asked, [each for each in known if len(each) > 4], n=1, cutoff=0.8)
    return f'Use "{known[close[0]]}".' if close else (
        'Use a name of the IANA database, such as "Europe/Berlin" or "UTC".')
