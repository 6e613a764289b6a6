/* A library to preload that lets vectored requests (those with more than one buffer)
fail.  The file $FAULT, read for each request, says how:

  torn K      the first vectored write to a table of the schema crash: only K * 512 bytes
              are written, and the process ends with status 99
  single K    the same for the first write of a single page
  short       a vectored request transfers its first buffer and 512 bytes of the second
  page        a vectored request transfers its first buffer only
  eio         preadv(), pwritev(): EIO (io_submit(): EIO for the call)
  eagain      io_submit() and io_uring_submit() accept every other call only
  half        io_submit() accepts half of what it is given
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <stdatomic.h>

static const char *path(void) { static const char *p; return p ? p : (p= getenv("FAULT")); }
static atomic_ulong injected;

/* Reads $FAULT; returns 0 if it is empty. */
static int fault(char *what, long *k)
{
  *what= 0; *k= 0;
  int fd= path() ? open(path(), O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return 0;
  char b[64]; ssize_t n= read(fd, b, sizeof b - 1); close(fd);
  if (n <= 0) return 0;
  b[n]= 0;
  return sscanf(b, "%31s %ld", what, k) >= 1;
}

/* Writes to $FAULT.count how many requests have failed. */
static void count(void)
{
  unsigned long n= ++injected;
  char name[512], b[32]; snprintf(name, sizeof name, "%s.count", path());
  int fd= open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd >= 0) { int l= snprintf(b, sizeof b, "%lu\n", n); if (write(fd, b, l)) {} close(fd); }
}

/* Writes the first k * 512 bytes of a request to a table, and ends the process. */
static void torn(int fd, const struct iovec *v, int n, off_t off, long k)
{
  char link[64], name[512]; snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t l= readlink(link, name, sizeof name - 1);
  name[l < 0 ? 0 : l]= 0;
  const char *table= strrchr(name, '/');
  static const char schema[]= "/crash";
  if (!table || table < name + sizeof schema ||
      strncmp(table - (sizeof schema - 1), schema, sizeof schema - 1)) return;
  size_t total= 0, left= k * 512, wrote= 0; for (int i= 0; i < n; i++) total+= v[i].iov_len;
  if (left > total) left= total;
  for (int i= 0; i < n && left; i++)
  {
    size_t len= v[i].iov_len < left ? v[i].iov_len : left;
    ssize_t s= pwrite(fd, v[i].iov_base, len, off);
    if (s != (ssize_t) len) { fprintf(stderr, "TORN pwrite %zd %d\n", s, errno); break; }
    off+= s; left-= s; wrote+= s;
  }
  fprintf(stderr, "TORN %s, %d pages, cut at %ld of %zu: wrote %zu\n",
          table + 1, n, k * 512, total, wrote);
  fflush(stderr);
  _exit(99);
}

/* preadv() or pwritev() with a fault. */
static ssize_t vectored(const char *name, int fd, const struct iovec *v, int n, off_t off,
                        int write)
{
  ssize_t (*real)(int, const struct iovec*, int, off_t)= dlsym(RTLD_NEXT, name);
  char w[32]; long k;
  if (n > 1 && fault(w, &k))
  {
    if (write && !strcmp(w, "torn")) torn(fd, v, n, off, k);
    if (!strcmp(w, "eio")) { count(); errno= EIO; return -1; }
    if (!strcmp(w, "page")) { count(); return real(fd, v, 1, off); }
    if (!strcmp(w, "short"))
    { count(); struct iovec x[2]= {v[0], {v[1].iov_base, 512}}; return real(fd, x, 2, off); }
  }
  return real(fd, v, n, off);
}
ssize_t preadv64(int fd, const struct iovec *v, int n, off_t off)
{ return vectored("preadv64", fd, v, n, off, 0); }
ssize_t pwritev64(int fd, const struct iovec *v, int n, off_t off)
{ return vectored("pwritev64", fd, v, n, off, 1); }

static struct iovec spare[4096][2]; static atomic_uint at;
int io_submit(io_context_t c, long nr, struct iocb **a)
{
  int (*real)(io_context_t, long, struct iocb**)= dlsym(RTLD_NEXT, "io_submit");
  static atomic_uint calls; char w[32]; long k;
  if (!fault(w, &k)) return real(c, nr, a);
  if (!strcmp(w, "eagain") && calls++ % 2) { count(); return -EAGAIN; }
  if (!strcmp(w, "eio") && calls++ % 2) { count(); return -EIO; }
  if (!strcmp(w, "half"))
  {
    if (nr > 1) { count(); return real(c, nr / 2, a); }
    if (calls++ % 2) { count(); return -EAGAIN; }
  }
  for (long i= 0; i < nr; i++)
  {
    struct iocb *b= a[i];
    int wr= b->aio_lio_opcode == IO_CMD_PWRITEV, n= (int) b->u.v.nr;
    struct iovec *v= (struct iovec*) b->u.v.vec;
    if (b->aio_lio_opcode == IO_CMD_PWRITE && !strcmp(w, "single"))
    {
      struct iovec one= {b->u.c.buf, b->u.c.nbytes};
      torn(b->aio_fildes, &one, 1, b->u.c.offset, k);
    }
    if (!wr && b->aio_lio_opcode != IO_CMD_PREADV) continue;
    if (wr && !strcmp(w, "torn")) torn(b->aio_fildes, v, n, b->u.v.offset, k);
    if (!strcmp(w, "page")) { count(); b->u.v.nr= 1; }
    if (!strcmp(w, "short"))
    {
      count();
      struct iovec *x= spare[at++ % 4096];
      x[0]= v[0]; x[1].iov_base= v[1].iov_base; x[1].iov_len= 512;
      b->u.v.vec= x; b->u.v.nr= 2;
    }
  }
  return real(c, nr, a);
}
struct io_uring;
int io_uring_submit(struct io_uring *r)
{
  int (*real)(struct io_uring*)= dlsym(RTLD_NEXT, "io_uring_submit");
  static atomic_uint calls; char w[32]; long k;
  if (fault(w, &k) && !strcmp(w, "eagain") && calls++ % 2) { count(); return -EAGAIN; }
  return real(r);
}
