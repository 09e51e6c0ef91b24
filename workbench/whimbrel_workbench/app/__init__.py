"""The served dashboard: a script or notebook becomes a page, behind a token, on this machine."""
