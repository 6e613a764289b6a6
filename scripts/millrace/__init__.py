"""The package behind scripts/ and build/: release trees, patches, proofs, rebase."""
from pathlib import Path

# the checkout
TOP = Path(__file__).resolve().parent.parent.parent
