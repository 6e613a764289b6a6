#!/usr/bin/python3
"""meas.py N [iops]: cold ascending scan, without and with google-io, interleaved."""
import subprocess, time, os, sys, re, statistics as st
B=os.environ['BUILD']  # build directory of the server without the patch
D=os.environ['SCRATCH']+'/data'; S=D+'.sock'; C=B+'/client/mariadb'
BIN={'without':B+'/sql/mariadbd','with':os.environ['WITH']}
CG='/sys/fs/cgroup/blkio/gio'
def q(s,db='test'): return subprocess.run([C,'--no-defaults','-S',S,'-N','-B',db,'-e',s],capture_output=True,text=True,check=True).stdout.strip()
def start(b,*o,cg=False):
    p=subprocess.Popen([BIN[b],'--no-defaults','--datadir='+D,'--socket='+S,'--skip-networking','--skip-grant-tables','--lc-messages-dir='+B+'/sql/share','--user=root','--innodb-buffer-pool-size=%s'%os.environ.get('POOL','512M'),'--innodb-buffer-pool-load-at-startup=0','--innodb-buffer-pool-dump-at-shutdown=0','--innodb-flush-method=O_DIRECT','--innodb-log-file-size=512M',*o],stdout=open(D+'.err','a'),stderr=subprocess.STDOUT)
    if cg: open(CG+'/cgroup.procs','w').write(str(p.pid))
    for _ in range(300):
        if subprocess.run([C,'--no-defaults','-S',S,'-e','select 1'],capture_output=True).returncode==0: return p
        time.sleep(.05)
    sys.exit('no start')
def stop(p): p.terminate(); p.wait()
def disk():
    for l in open('/proc/diskstats'):
        f=l.split()
        if f[2]=='vda': return int(f[3]),int(f[4]),int(f[5])
def cpu(p):
    f=open(f'/proc/{p.pid}/stat').read().rsplit(')',1)[1].split(); return (int(f[11])+int(f[12]))*1000/os.sysconf('SC_CLK_TCK')
if not os.path.isdir(D):
    subprocess.run(['cp','-r',os.environ['SCRATCH']+'/empty',D]); p=start('without')
    q("CREATE TABLE s(id INT PRIMARY KEY, k INT, c CHAR(120) CHARACTER SET latin1, pad CHAR(60) CHARACTER SET latin1) ENGINE=InnoDB STATS_AUTO_RECALC=0; SET unique_checks=0; INSERT INTO s SELECT seq, seq, REPEAT('c',120), REPEAT('p',60) FROM seq_1_to_1000000; SET GLOBAL innodb_fast_shutdown=0"); stop(p)
n=int(sys.argv[1]); iops=sys.argv[2] if len(sys.argv)>2 else '0'; opts=sys.argv[3:]
if iops!='0':
    os.makedirs(CG,exist_ok=True); open(CG+'/blkio.throttle.read_iops_device','w').write('254:0 '+iops)
res={'without':[],'with':[]}
for i in range(n):
    for b in (('without','with') if i%2==0 else ('with','without')):
        p=start(b,*[o for o in opts if b=='with' or not o.startswith('--innodb-max-merged')],cg=iops!='0'); pr=int(q("show global status like 'innodb_buffer_pool_reads'").split()[1]); d0=disk(); c0=cpu(p); t=time.monotonic()
        q('SELECT SUM(LENGTH(c)) FROM s WHERE id>0'); t=time.monotonic()-t; c1=cpu(p); d1=disk()
        pages=int(q("show global status like 'innodb_buffer_pool_reads'").split()[1])-pr; ra=q("show global status like 'innodb_buffer_pool_read_ahead'").split()[1]
        res[b].append((t,c1-c0,d1[0]-d0[0],d1[1]-d0[1],pages,int(ra))); stop(p)
        print(b,'%.3f s, cpu %d ms, device reads %d merged %d, pages %d, read-ahead %s'%res[b][-1],flush=True)
for b in res:
    print(b,'median s %.3f [%.3f %.3f] cpu ms %.0f device reads %.0f'%(st.median(r[0] for r in res[b]),min(r[0] for r in res[b]),max(r[0] for r in res[b]),st.median(r[1] for r in res[b]),st.median(r[2] for r in res[b])))
