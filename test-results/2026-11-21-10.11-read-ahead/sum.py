import csv,statistics as s,collections,sys
d=collections.defaultdict(list)
for r in csv.DictReader(open(sys.argv[1])): d[r['workload'],r['binary']].append(r)
for k,v in sorted(d.items()):
    f=lambda c:[float(x[c]) for x in v]
    print(k,len(v),'read',s.median(f('pages_read')),'ra',s.median(f('pages_read_ahead')),'sec med %.3f min %.3f max %.3f'%(s.median(f('seconds')),min(f('seconds')),max(f('seconds'))),'cpu',s.median(f('server_cpu_ms')), 'load',s.median(f('loadavg')))
for l in 'asc','desc','rand':
    r=[float(a['seconds'])/float(b['seconds']) for a,b in zip(d[l,'vanilla'],d[l,'patched'])]
    print(l,'ratios',[round(x,2) for x in r],'median %.2f'%s.median(r))
