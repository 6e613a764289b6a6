/* How long a program holds the mutexes that are variables of its own: a library that is loaded
   before all others (LD_PRELOAD).

   $MILLRACE_HELD names a file that is mapped: measure/held.py reads it while the program runs.
   A mutex counts its acquisitions and, when it is released, the nanoseconds since; waiting for a
   condition releases it.  Whoever holds a mutex writes its slot, so the mutex protects that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 4096
#define BUCKETS 40

struct slot     /* measure/held.py reads it */
{
  uint64_t mutex, count, ns, begin;
  uint64_t histogram[BUCKETS];  /* by the logarithm of the nanoseconds to the base 2 */
};

static struct slot *slots;
static uintptr_t first, size;   /* where the variables of the program are */
static int (*lock)(pthread_mutex_t *), (*trylock)(pthread_mutex_t *);
static int (*unlock)(pthread_mutex_t *);
static int (*wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

static int find_variables(struct dl_phdr_info *info, size_t length, void *data)
{
  for (int i= 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_W)
    {
      first= info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      size= info->dlpi_phdr[i].p_memsz;
    }
  return 1;     /* the program itself comes first */
}

/* A library that is initialised before this one may lock a mutex. */
static void resolve(void)
{
  if (lock)
    return;
  trylock= dlsym(RTLD_NEXT, "pthread_mutex_trylock");
  unlock= dlsym(RTLD_NEXT, "pthread_mutex_unlock");
  /* x86-64 has older ones of these names as well */
  if (!(wait= dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2")))
    wait= dlsym(RTLD_NEXT, "pthread_cond_wait");
  if (!(timedwait= dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2")))
    timedwait= dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  clockwait= dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  lock= dlsym(RTLD_NEXT, "pthread_mutex_lock");
}

__attribute__((constructor)) static void load(void)
{
  const char *name= getenv("MILLRACE_HELD");
  resolve();
  if (!name)
    return;
  int file= open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || ftruncate(file, SLOTS * sizeof *slots))
    abort();
  void *map= mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map == MAP_FAILED)
    abort();
  close(file);
  dl_iterate_phdr(find_variables, NULL);
  slots= map;
}

static uint64_t now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static struct slot *find(const pthread_mutex_t *mutex)
{
  const uintptr_t address= (uintptr_t) mutex;
  if (!slots || address - first >= size)
    return NULL;
  for (unsigned i= (uint32_t) (address >> 3) * 2654435761u % SLOTS, n= 0; n < 64;
       i= (i + 1) % SLOTS, n++)
  {
    uint64_t none= 0;
    if (slots[i].mutex == address ||
        (!slots[i].mutex &&
         (__atomic_compare_exchange_n(&slots[i].mutex, &none, address, 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED) || none == address)))
      return &slots[i];
  }
  return NULL;
}

static void acquired(const pthread_mutex_t *mutex)
{
  struct slot *slot= find(mutex);
  if (slot)
    slot->begin= now();
}

static void released(const pthread_mutex_t *mutex)
{
  struct slot *slot= find(mutex);
  if (!slot)
    return;
  const uint64_t ns= now() - slot->begin;
  const unsigned bucket= ns ? 63 - __builtin_clzll(ns) : 0;
  slot->count++;
  slot->ns+= ns;
  slot->histogram[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
  resolve();
  const int error= lock(mutex);
  if (!error)
    acquired(mutex);
  return error;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
  resolve();
  const int error= trylock(mutex);
  if (!error)
    acquired(mutex);
  return error;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
  resolve();
  released(mutex);
  return unlock(mutex);
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
  released(mutex);
  const int error= wait(condition, mutex);
  acquired(mutex);
  return error;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
  released(mutex);
  const int error= timedwait(condition, mutex, until);
  acquired(mutex);
  return error;
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until)
{
  released(mutex);
  const int error= clockwait(condition, mutex, clock, until);
  acquired(mutex);
  return error;
}
