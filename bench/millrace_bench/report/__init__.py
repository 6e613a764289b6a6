"""Shows what was measured: pages and pictures in dist/report/, tables for the documentation."""
