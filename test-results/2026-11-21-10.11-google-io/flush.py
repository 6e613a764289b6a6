import os,sys,time; sys.argv=['x','0']; exec(open(os.path.dirname(os.path.abspath(__file__))+'/scan.py').read().split("res={")[0].replace("n=int","n=0 or int"))
os.makedirs(CG,exist_ok=True)
open(CG+'/blkio.throttle.read_iops_device','w').write('254:0 0')
for i in range(2):
    for b in (('without','with') if i%2==0 else ('with','without')):
        open(CG+'/blkio.throttle.write_iops_device','w').write('254:0 3000')
        p=start(b,'--innodb-io-capacity=20000','--innodb-io-capacity-max=20000',cg=True)
        q('SET GLOBAL innodb_max_dirty_pages_pct=99; SELECT SUM(LENGTH(c)) FROM s')
        q('UPDATE s SET k=k+1 WHERE id%20=0')
        w0=int(q("show global status like 'innodb_data_writes'").split()[1]); dp=q("show global status like 'innodb_buffer_pool_pages_dirty'").split()[1]
        f=lambda: next((int(l.split()[7]),int(l.split()[8])) for l in open('/proc/diskstats') if l.split()[2]=='vda')
        d0=f(); t=time.monotonic(); q('SET GLOBAL innodb_max_dirty_pages_pct_lwm=0; SET GLOBAL innodb_max_dirty_pages_pct=0')
        while int(q("show global status like 'innodb_buffer_pool_pages_dirty'").split()[1])>20: time.sleep(.05)
        t=time.monotonic()-t; d1=f()
        print(b,'%.2f s to write %s dirty pages, %d InnoDB writes, device writes %d merged %d'%(t,dp,int(q("show global status like 'innodb_data_writes'").split()[1])-w0,d1[0]-d0[0],d1[1]-d0[1]),flush=True)
        open(CG+'/blkio.throttle.write_iops_device','w').write('254:0 0')
        stop(p)
