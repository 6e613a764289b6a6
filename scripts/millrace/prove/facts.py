"""Facts that the proofs keep between runs, each under the hash of its inputs.

Two directories: `facts`, a small JSON file each, and `files`, contents under their SHA-256.
A fact is never changed: other inputs have another key.  An interrupted run leaves whole facts or
none.
"""
import hashlib
import json
import os


def digest(*parts):
    """A key: the hash of anything that JSON can say."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Facts:
    """The facts and files kept in a directory."""

    def __init__(self, directory):
        self.directory, self.files = directory / 'facts', directory / 'files'
        self.directory.mkdir(parents=True, exist_ok=True)
        self.files.mkdir(exist_ok=True)

    def _write(self, path, content):
        part = path.with_name(f'.{path.name}.{os.getpid()}')
        part.write_bytes(content)
        part.replace(path)

    def get(self, key):
        """The fact under this key, or None."""
        try:
            return json.loads((self.directory / key).read_bytes())
        except FileNotFoundError:
            return None

    def learn(self, key, fact):
        """Keeps a fact, and returns it."""
        self._write(self.directory / key, json.dumps(fact, indent=1).encode())
        return fact

    def add(self, content):
        """Keeps the content of a file; returns its SHA-256."""
        name = hashlib.sha256(content).hexdigest()
        if not (self.files / name).exists():
            self._write(self.files / name, content)
        return name

    def content(self, name):
        """The content kept under a SHA-256."""
        return (self.files / name).read_bytes()
