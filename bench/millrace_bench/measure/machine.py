"""The machine that a benchmark runs on, as far as its speed depends on it."""
import os
import platform
import re
from pathlib import Path


def _first(pattern, path, otherwise):
    try:
        text = Path(path).read_text(encoding='utf-8', errors='replace')
        match = re.search(pattern, text, re.MULTILINE)
    except OSError:
        match = None
    return match[1].strip() if match else otherwise


def block_device(path):
    """Name and 'major:minor' of the whole disk that `path` is on; None where no disk stands
    behind its file system (overlay, tmpfs, btrfs with a device number of its own)."""
    number = os.stat(path).st_dev
    link = Path(f'/sys/dev/block/{os.major(number)}:{os.minor(number)}')
    if not link.exists():
        return None
    device = link.resolve()
    if (device / 'partition').exists():
        device = device.parent
    return device.name, (device / 'dev').read_text().strip()


def mounted():
    """Place, type and options of each mounted file system."""
    for line in os.fsdecode(Path('/proc/self/mounts').read_bytes()).splitlines():
        _, place, kind, options = line.split()[:4]
        # the kernel writes a blank as \040
        place = re.sub(r'\\(\d{3})', lambda code: chr(int(code[1], 8)), place)
        yield Path(place), kind, options.split(',')


def filesystem(path):
    """Type of the file system that `path` is on."""
    path, best = Path(path).resolve(), (Path(), 'unknown')
    for place, kind, _ in mounted():
        if path.is_relative_to(place) and len(place.parts) >= len(best[0].parts):
            best = (place, kind)
    return best[1]


def virtual():
    """The hypervisor: 'none', the name that it gives, or 'unknown'."""
    if ' hypervisor' not in _first(r'^flags\s*:(.*)$', '/proc/cpuinfo', ''):
        return 'none'
    vendor = _first(r'^(.+)$', '/sys/class/dmi/id/sys_vendor', '')
    known = {'QEMU': 'kvm', 'Amazon EC2': 'kvm', 'Google': 'kvm',
             'Microsoft Corporation': 'hyper-v', 'VMware, Inc.': 'vmware', 'Xen': 'xen'}
    clocks = '/sys/devices/system/clocksource/clocksource0/available_clocksource'
    if not vendor and 'kvm' in _first(r'(.*)', clocks, ''):
        return 'kvm'
    return known.get(vendor, vendor or 'unknown')


def cores():
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def describe(path):
    """The machine's record; `path` is where the data are."""
    device = block_device(path)
    queue = Path('/sys/class/block', device[0], 'queue') if device else None
    return {
        'cpu': _first(r'^model name\s*:\s*(.*)$', '/proc/cpuinfo', platform.machine()),
        'cores': cores(),
        'memory_bytes': os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'),
        'kernel': platform.release(),
        'system': _first(r'^PRETTY_NAME="?([^"\n]*)', '/etc/os-release', 'Linux'),
        'virtual': virtual(),
        'disk': {
            'device': device[0] if device else 'unknown',
            'filesystem': filesystem(path),
            'scheduler': _first(r'\[(.*?)\]', queue / 'scheduler', 'none') if queue else 'unknown',
            'rotational': _first(r'(\d)', queue / 'rotational', '0') == '1' if queue else False,
        },
    }


def device_counts(path):
    """Requests completed and bytes moved by the disk under `path` since the machine started, by
    all its users; empty where no disk is known."""
    device = block_device(path)
    if not device:
        return {}
    field = Path('/sys/class/block', device[0], 'stat').read_text().split()
    return {'device_reads': int(field[0]), 'device_read_bytes': int(field[2]) * 512,
            'device_writes': int(field[4]), 'device_write_bytes': int(field[6]) * 512}


def cpu_times():
    """Seconds that all cores together were busy, and seconds in all, since the machine started."""
    field = list(map(int, Path('/proc/stat').read_text().splitlines()[0].split()[1:9]))
    return (sum(field) - field[3] - field[4]) / 100, sum(field) / 100
