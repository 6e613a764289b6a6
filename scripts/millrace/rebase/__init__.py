"""Carrying the series of a tree to another upstream release."""
