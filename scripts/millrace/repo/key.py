"""The key that signs, from the maintainer's GNUPGHOME."""
import os
import re
import shutil
import subprocess

from millrace.command import environment
from millrace.errors import Failure
from millrace.repo.tools import tool


def _listed(option, fingerprint):
    """The fields of gpg's lines about a key; none where it has no such key."""
    done = subprocess.run(['gpg', '--batch', '--with-colons', option, fingerprint], text=True,
                          capture_output=True, check=False, env=environment())
    # the state of the trust database comes in any case
    return [line.split(':') for line in done.stdout.splitlines() if not line.startswith('tru:')]


def _use_terminal():
    """Names the terminal of this command to gpg, which asks for a passphrase there: its tools
    read no stdin, by which it would know."""
    for number in (0, 1, 2):
        if not os.environ.get('GPG_TTY') and os.isatty(number):
            os.environ['GPG_TTY'] = os.ttyname(number)


class Key:
    """A key with its secret part, by the fingerprint that KEY= gives.  Raises Failure."""

    def __init__(self, given):
        fingerprint = re.sub(r'\s|^0x', '', given).upper()
        listing = 'your keys: gpg --list-secret-keys'
        if not fingerprint:
            raise Failure('there is no key to sign with', 'make repo KEY=FINGERPRINT', listing)
        if not re.fullmatch('[0-9A-F]{40}', fingerprint):
            raise Failure(f'KEY={given} is no fingerprint',
                          '40 hexadecimal digits: a shorter name could be of several keys',
                          listing)
        if not _listed('--list-secret-keys', fingerprint):
            if _listed('--list-keys', fingerprint):
                raise Failure(f'the key {fingerprint} is here without its secret part',
                              'only the secret part signs: gpg --import SECRET-KEY.asc',
                              'or sign where it is')
            raise Failure(f'there is no key {fingerprint} in the GNUPGHOME of this user', listing)
        lines = _listed('--list-keys', fingerprint)
        self.fingerprint = next(line[9] for line in lines if line[0] == 'fpr')

    def check(self):
        """Raises Failure where the key does not sign; asks for its passphrase, which gpg-agent
        forgets when it has not been used for ten minutes."""
        _use_terminal()
        try:
            tool('gpg', '--batch', '--local-user', self.fingerprint, '--output', '-', '--sign',
                 '/dev/null', errors='replace')
        except Failure as error:
            raise Failure(f'the key {self.fingerprint} does not sign', *error.lines[1:],
                          f'is it expired, or locked? gpg --edit-key {self.fingerprint}') from None

    def changed(self):
        """When the key was changed last, in seconds: the newest signature of its own."""
        own = self.fingerprint[-16:]
        return max(int(line[5]) for line in _listed('--list-sigs', self.fingerprint)
                   if line[0] == 'sig' and line[4] == own)

    def export(self, file, *options):
        """Writes the public key, without other people's signatures."""
        tool('gpg', '--batch', '--yes', *options, '--export-options', 'export-minimal',
             '--output', file, '--export', self.fingerprint)

    def sign(self, file):
        """Signs a file: the signature is beside it, FILE.asc."""
        tool('gpg', '--batch', '--yes', '--local-user', self.fingerprint, '--armor',
             '--output', f'{file}.asc', '--detach-sign', file)

    def sign_rpms(self, files):
        """Puts the signature into RPM packages: their bytes change, what they carry does not."""
        if files:
            tool('rpmsign', '--define', f'_gpg_name {self.fingerprint}',
                 '--define', f'__gpg {shutil.which("gpg")}', '--addsign', *files)
