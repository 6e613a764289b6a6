"""Measures a suite: one run of each case on each build, round by round."""
