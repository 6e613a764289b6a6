import os,sys,time,shutil; sys.argv=['x','0']; exec(open(os.path.dirname(os.path.abspath(__file__))+'/scan.py').read().split("res={")[0].replace("n=int","n=0 or int"))
base=os.environ['SCRATCH']+'/crashed'
if not os.path.isdir(base):
    p=start('with','--innodb-max-dirty-pages-pct=99'); q("UPDATE s SET k=k+1 WHERE id%3=0"); q("UPDATE s SET k=k+1 WHERE id%100=0"); p.kill(); p.wait(); shutil.copytree(D,base)
os.makedirs(CG,exist_ok=True); open(CG+'/blkio.throttle.write_iops_device','w').write('254:0 0'); D=os.environ['SCRATCH']+'/copy'; S=D+'.sock'
for io in ('3000','0'):
  open(CG+'/blkio.throttle.read_iops_device','w').write('254:0 '+io)
  for i in range(2):
    for b in (('without','with') if i%2==0 else ('with','without')):
        shutil.rmtree(D,ignore_errors=True); shutil.copytree(base,D); os.sync(); d0=disk(); t=time.monotonic(); p=start(b,cg=True); t=time.monotonic()-t; d1=disk()
        print(io,b,'%.2f s until it accepts connections; device reads %d'%(t,d1[0]-d0[0]), q("SELECT requests,pages FROM information_schema.innodb_io_stats WHERE work='recovery' and operation='read'") if b=='with' else '', q('select sum(k) from s'),flush=True); stop(p)
