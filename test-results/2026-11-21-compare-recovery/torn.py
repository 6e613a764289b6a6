"""torn.py: pages of the undo tablespaces whose beginning and end have different LSNs, and which blocks of 4 KiB of
them are those of vanilla's --prepare and of the crashed data."""
import glob, os, sys
for d, P in (('different-5067', 16384), ('different-6041', 32768)):
    for f in sorted(glob.glob(d + '/patched-prepared/data/undo0*')):
        n = os.path.basename(f)
        a, v, c = (open(f'{d}/{w}/data/{n}', 'rb').read() for w in ('patched-prepared', 'vanilla', 'crashed'))
        for i in range(len(a) // P):
            p, q, o = (x[i * P:(i + 1) * P] for x in (a, v, c))
            if any(p) and p[20:24] != p[-8:-4]:
                eq = lambda x: [k for k in range(P // 4096) if p[k * 4096:(k + 1) * 4096] == x[k * 4096:(k + 1) * 4096]]
                print(d, n, 'page', i, 'of', P, 'bytes: blocks as vanilla recovered them', eq(q), 'as they were', eq(o))
