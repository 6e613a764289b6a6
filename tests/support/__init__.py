"""Shared by the tests: checkouts to break, small upstreams, patches made of edits."""
