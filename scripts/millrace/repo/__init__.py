"""The signed repositories in dist/repo/: apt, yum, and the files beside them."""
