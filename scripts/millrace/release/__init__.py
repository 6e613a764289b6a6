"""A release: its notes, bills of materials and provenance, and the tag that names it."""
import sys

from millrace.upstream import tarballs

# what build/setup release takes from PyPI; Debian's typing_extensions would be too old
sys.path.insert(0, str(tarballs.cache() / 'python'))
