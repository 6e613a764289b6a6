"""What the proofs keep between runs, found again by the hash of what it was made from.

Two directories: `facts`, one small JSON file for each thing that was found out, and
`files`, contents under their SHA-256.  A fact is never changed; where something it was
made from is different, its key is.  An interrupted run leaves whole facts or none.
"""
import hashlib
import json
import os


def digest(*parts):
    """A key: the hash of anything that JSON can say."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Kept:
    """The facts and files kept in a directory."""

    def __init__(self, directory):
        self.facts, self.files = directory / 'facts', directory / 'files'
        self.facts.mkdir(parents=True, exist_ok=True)
        self.files.mkdir(exist_ok=True)

    def _write(self, path, content):
        part = path.with_name(f'.{path.name}.{os.getpid()}')
        part.write_bytes(content)
        part.replace(path)

    def fact(self, key):
        """What was found out under this key, or None."""
        try:
            return json.loads((self.facts / key).read_bytes())
        except FileNotFoundError:
            return None

    def learn(self, key, fact):
        """Keeps a fact, and gives it back."""
        self._write(self.facts / key, json.dumps(fact, indent=1).encode())
        return fact

    def add(self, content):
        """Keeps the content of a file: its SHA-256."""
        name = hashlib.sha256(content).hexdigest()
        if not (self.files / name).exists():
            self._write(self.files / name, content)
        return name

    def content(self, name):
        """The content kept under a SHA-256."""
        return (self.files / name).read_bytes()
