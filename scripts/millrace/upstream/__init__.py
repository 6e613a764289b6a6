"""Upstream's releases: which one a tree is pinned to, and their tarballs."""
