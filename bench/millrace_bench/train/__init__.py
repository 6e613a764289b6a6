"""Trains the profile that a tree's packages are compiled with."""
