"""The names of the variables that patches add, beside upstream's and each other's.

The server takes an abbreviated option for the only one that begins so.  A variable that is a
prefix of another one changes what an abbreviation means; left in a configuration, also after
loose_, it sets the other one on a server without the patch.
"""
import itertools
import re

from millrace.errors import Fault

# upstream's lists of its variables
LISTS = tuple(f'mysql-test/suite/sys_vars/r/sysvars_{name}.result'
              for name in ('innodb', 'server_notembedded'))
LISTED = re.compile(r'VARIABLE_NAME\t(\w+)')
ADDED = re.compile(r'\+(?:VARIABLE_NAME\tINNODB_(\w+)|\s*MYSQL_SYSVAR(?:_[A-Z]+)?\((\w+))')


def listed(texts):
    """The variables in texts of LISTS, in small letters."""
    return {match[1].lower() for text in texts for match in map(LISTED.fullmatch,
                                                                text.splitlines()) if match}


def added(text):
    """The variables that the text of a patch adds, in small letters: {name: line}."""
    names = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := ADDED.match(line):
            names.setdefault(f'innodb_{(match[1] or match[2]).lower()}', number)
    return names


def check(patches, upstream):
    """The Faults among the variables of patches, {path: text}, and upstream's names."""
    ours = {path: {name: line for name, line in added(text).items() if name not in upstream}
            for path, text in patches.items()}
    faults = []
    for path, names in ours.items():
        others = {name: 'upstream' for name in upstream}
        for other in ours:
            others |= {name: other for name in ours[other] if other != path}
        for (name, line), (other, whose) in itertools.product(names.items(), others.items()):
            if name.startswith(other) or other.startswith(name):
                shorter, longer = sorted((name, other), key=len)
                faults.append(Fault(f'{shorter} is a prefix of {longer}: one of them is added '
                                    f'here, the other one by {whose}', 'give it another name',
                                    line, path))
    return faults
