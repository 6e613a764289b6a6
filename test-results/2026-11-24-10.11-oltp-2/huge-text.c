#define _GNU_SOURCE
#include <link.h>
#include <sys/mman.h>
#include <string.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define H (2UL<<20)
static int one(struct dl_phdr_info *i, size_t n, void *x)
{
  for (int k=0;k<i->dlpi_phnum;k++) {
    const ElfW(Phdr)*p=&i->dlpi_phdr[k];
    if (p->p_type!=PT_LOAD || !(p->p_flags&PF_X)) continue;
    uintptr_t s=i->dlpi_addr+p->p_vaddr, e=s+p->p_memsz;
    s=(s+H-1)&~(H-1); e&=~(H-1);
    if (s>=e) { fprintf(stderr,"hugetext: too small\n"); continue; }
    size_t len=e-s;
    char *m=mmap(0,len+H,PROT_READ|PROT_WRITE,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);
    if (m==MAP_FAILED) return 1;
    char *a=(char*)(((uintptr_t)m+H-1)&~(H-1));
    madvise(a,len,MADV_HUGEPAGE);
    memcpy(a,(void*)s,len);
    mprotect(a,len,PROT_READ|PROT_EXEC);
    if (mremap(a,len,len,MREMAP_MAYMOVE|MREMAP_FIXED,(void*)s)==MAP_FAILED) { perror("mremap"); abort(); }
    fprintf(stderr,"hugetext: %zu MiB\n",len>>20);
  }
  return 1; /* only the program itself */
}
__attribute__((constructor)) static void init(void)
{ dl_iterate_phdr(one,0); }
