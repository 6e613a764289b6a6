"""Patches as data: the series, headers, hunks, and the ways a patch comes in and goes out."""
