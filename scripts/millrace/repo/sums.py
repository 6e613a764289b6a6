"""SHA256SUMS of a directory: each file is read once a run, whatever its number of names."""
import hashlib

from millrace.errors import Failure

NAME = 'SHA256SUMS'


class Sums:
    """The hashes of the files that were read, by their inodes."""

    def __init__(self):
        self.known = {}

    def of(self, file):
        """The sha256 of a file, which nobody writes into any more."""
        state = file.stat()
        inode = state.st_dev, state.st_ino
        if inode not in self.known:
            with file.open('rb') as data:
                self.known[inode] = hashlib.file_digest(data, 'sha256').hexdigest()
        return self.known[inode]

    def check(self, directory, mend):
        """Raises Failure where a file is not what the SHA256SUMS of the directory says."""
        faults = []
        for line in (directory / NAME).read_text(encoding='utf-8').splitlines():
            digest, _, name = line.partition('  ')
            file = directory / name
            if not file.is_file():
                faults.append(f'{name}: missing')
            elif self.of(file) != digest:
                faults.append(f'{name}: changed')
        if faults:
            raise Failure('a file of the repository is not the one that was signed', *faults[:5],
                          mend)

    def write(self, directory, key):
        """Writes the SHA256SUMS of a directory and all below it, signed."""
        files = {str(file.relative_to(directory)): file for file in directory.rglob('*')
                 if file.is_file()}
        (directory / NAME).write_text(''.join(
            f'{self.of(file)}  {name}\n' for name, file in sorted(files.items())),
            encoding='utf-8')
        key.sign(directory / NAME)
