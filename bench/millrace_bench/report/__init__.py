"""Draws what the benchmarks measured: pictures, a page for each result set, an overview of them all."""
