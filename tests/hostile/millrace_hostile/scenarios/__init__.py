"""The scenarios, by what is hostile; importing this registers them in trial.REGISTERED."""
from millrace_hostile.scenarios import (calls, disks, memory, settings, slow, tablespaces,
                                        tmpdirs)

__all__ = ['calls', 'disks', 'memory', 'settings', 'slow', 'tablespaces', 'tmpdirs']
