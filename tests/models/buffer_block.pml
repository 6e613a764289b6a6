/* The life of a block of the buffer pool and of the pages that a read-ahead prepares, as
split-buffer-mutex has them.  docs/design/split-buffer-mutex.md argues in words what is
checked here:

- a block belongs to one list or one thread at a time, and a page has one block (ASSERTs in
  take(), own(), put(), insert());
- nobody uses a page that is not read (use());
- none is lost: when all threads are done, each block is free, a page that is read, or given
  up by the resizing that wanted it (init);
- no thread waits for ever, neither for a block nor for a page (spin's check of invalid end
  states), though nobody wakes up by a timeout.

Taken for granted, as in vanilla: who waited for a page that could not be read lets go of it
before waiting for anything else (CARELESS).

buf_pool.mutex protects the free list and LRU.  What is done while holding it is one step
here, but for eviction, which may release it in between.  The page cleaner stands for whoever
evicts pages when it is told to.

tests/fast/test_models.py runs it as it is, and with each of the FAULTs, which it must
find.  A block is named by its number; the last one is to be withdrawn by RESIZE. */

/* Who takes part */
#define MISS 1          /* two misses of one page, two that allocate */
#define WAIT 2          /* a miss and two that allocate, one block */
#define READ_AHEAD 3    /* read-ahead, two that use its pages, a miss of one */
#define BATCH 4         /* read-ahead that holds back its requests, one that has a block and
                           uses a page */
#define RESIZE 5        /* read-ahead, a miss, resizing */
#ifndef SCENARIO
#define SCENARIO MISS
#endif

#if SCENARIO == WAIT
#define N 1
#else
#define N 2
#endif
#define FIRST (N - 1)
#define PAGES 2
#define NONE 255
#define PROCS 8

/* Faults that the model must find */
#define LOOK_FIRST 1        /* the page is not looked up after waiting for a block */
#define BLOCK_KEPT 2        /* the block is kept though some other thread read the page */
#define SLEEP_WITH_MUTEX 3  /* the mutex is not released when waiting for a block */
#define NO_BROADCAST 4      /* nobody is told that there is a block */
#define NOT_TOLD 5          /* the page cleaner is not woken up */
#define WAIT_PREPARED 6     /* a read-ahead waits for a block after it prepared a page */
#define WAIT_HELD_BACK 7    /* or while it is holding back requests */
#define CARELESS 8          /* who waited for a page that could not be read keeps it */
#define NOT_SUBMITTED 9     /* prepared pages are left alone when the read-ahead ends early */
#define SHRINK_IGNORED 10   /* the blocks of a read-ahead may be withdrawn */
#define LATCH_LATE 11       /* a page is in page_hash before it is latched */
#ifndef FAULT
#define FAULT 0
#endif

mtype = { FREE, MEM, PAGE, WITHDRAWN };

mtype st[N];            /* where the block is */
byte owner[N];          /* the thread it belongs to, if it is MEM; or 0 */
byte id[N] = NONE;      /* the page in the block; NONE also if it could not be read */
bool latched[N];        /* the page is exclusively latched and read-fixed */
bool is_read[N];        /* the frame has the contents of the page */
byte submitted[N];      /* 1 if the request is being held back, 2 if it was submitted */
byte fix[N];            /* how many have buffer-fixed the page */
byte where[PAGES] = NONE;   /* page_hash */
byte mutex;             /* who holds buf_pool.mutex, or 0 */
byte to_withdraw;       /* n_blocks_to_withdraw */
bool shrinking;         /* is_shrinking() */
bool told;              /* the page cleaner was woken up */
bool asleep[PROCS];     /* waiting for done_free */
byte done;              /* threads that ended */
byte ends;              /* threads that will */
bool shrunk;            /* shrink() succeeded */

inline lock() { atomic { assert(mutex != _pid); mutex == 0 -> mutex = _pid } }
inline unlock() { assert(mutex == _pid); mutex = 0 }

inline broadcast() {
    k = 0;
    do :: k < PROCS -> asleep[k] = false; k++ :: else -> break od;
    k = 0
}

/* The thread uses the block. */
inline own(b) { assert(st[b] == MEM && owner[b] == _pid) }

/* allocate(): b is the first of the free list, or NONE */
inline take(b) {
    d_step {
        assert(mutex == _pid);
        b = NONE;
        i = 0;
        do
        :: b == NONE && i < N ->
            if
            :: st[i] == FREE && to_withdraw > 0 && i >= FIRST ->
                st[i] = WITHDRAWN; to_withdraw--
            :: st[i] == FREE && !(to_withdraw > 0 && i >= FIRST) ->
                b = i; st[b] = MEM; owner[b] = _pid
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

/* buf_LRU_block_free_non_file_page() */
inline put(b) {
    d_step {
        assert(mutex == _pid);
        own(b);
        owner[b] = 0;
        if
        :: to_withdraw > 0 && b >= FIRST -> st[b] = WITHDRAWN; to_withdraw--
        :: else ->
            st[b] = FREE;
            if :: FAULT != NO_BROADCAST -> broadcast() :: else fi
        fi
    }
}

#define evictable(b) (st[b] == PAGE && !latched[b] && fix[b] == 0)

/* buf_LRU_scan_and_free_block(): v is the block that was freed, or NONE */
inline evict(v) {
    d_step {
        assert(mutex == _pid);
        v = NONE;
        i = 0;
        do
        :: v == NONE && i < N ->
            if
            :: evictable(i) ->
                v = i;
                assert(where[id[v]] == v);
                where[id[v]] = NONE;
                id[v] = NONE; is_read[v] = false;
                st[v] = MEM; owner[v] = _pid
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    };
    if
    :: v != NONE ->
        /* btr_search_drop_page_hash_index() */
        if :: unlock(); lock() :: skip fi;
        put(v)
    :: else
    fi
}

/* The block becomes a page. */
inline insert(b, p) {
    d_step {
        assert(mutex == _pid);
        own(b);
        assert(where[p] == NONE);
        owner[b] = 0; st[b] = PAGE; id[b] = p; where[p] = b;
        latched[b] = (FAULT != LATCH_LATE)
    };
    if :: FAULT == LATCH_LATE -> latched[b] = true :: else fi
}

inline flush() {
    d_step {
        i = 0;
        do
        :: i < N -> if :: submitted[i] == 1 -> submitted[i] = 2 :: else fi; i++
        :: else -> break
        od;
        i = 0
    }
}

/* buf_LRU_get_free_block(have_mutex); batch: whether the thread may hold back requests */
inline get_free_block(b, batch) {
    do
    :: take(b);
        if
        :: b != NONE -> break
        :: else -> evict(victim); if :: victim == NONE -> break :: else fi
        fi
    od;
    if
    :: b == NONE && batch && FAULT != WAIT_HELD_BACK -> unlock(); flush(); lock()
    :: else
    fi;
    do
    :: b != NONE -> break
    :: else ->
        take(b);
        if
        :: b == NONE ->
            if :: FAULT != NOT_TOLD -> told = true :: else fi;
            if
            :: FAULT == SLEEP_WITH_MUTEX -> asleep[_pid] = true; !asleep[_pid]
            :: else ->
                atomic { unlock(); asleep[_pid] = true };
                !asleep[_pid];
                lock()
            fi
        :: else
        fi
    od
}

/* buf_page_init_for_read(), after locking mutex, which it unlocks; b: the block of the page,
or NONE if the page is there */
inline init_for_read(b, p, batch) {
    d_step { c = where[p] };
    get_free_block(b, batch);
    if
    :: (FAULT != LOOK_FIRST && where[p] == NONE) || (FAULT == LOOK_FIRST && c == NONE) ->
        insert(b, p)
    :: else ->
        if :: FAULT != BLOCK_KEPT -> put(b) :: else fi;
        b = NONE
    fi;
    c = NONE;
    unlock()
}

/* corrupted_evict() */
inline corrupted_evict(b) {
    flush();
    lock();
    d_step {
        assert(st[b] == PAGE && latched[b] && where[id[b]] == b);
        where[id[b]] = NONE; id[b] = NONE;
        latched[b] = false
    };
    fix[b] == 0;
    d_step { st[b] = MEM; owner[b] = _pid };
    put(b);
    unlock()
}

#define LOCALS byte b = NONE, c = NONE, victim = NONE, i, k

/* A miss of one page, which is read by the thread itself */
proctype Miss(byte p) {
    LOCALS;
    lock();
    init_for_read(b, p, false);
    if
    :: b != NONE -> d_step { is_read[b] = true; latched[b] = false }
    :: else
    fi;
    done++
}

/* Something that is no page */
proctype Memory() {
    LOCALS;
    lock();
    get_free_block(b, false);
    unlock();
    own(b);
    lock();
    put(b);
    unlock();
    done++
}

/* Wait for a page that was buffer-fixed. */
inline use(b, p) {
    !latched[b];
    assert(id[b] != p || is_read[b])
}

/* Use a page, if it is in the buffer pool, and the other one with it. */
proctype User(byte p) {
    byte b = NONE, c = NONE, other = 1 - p;
    atomic { if :: where[p] != NONE -> b = where[p]; fix[b]++ :: else fi };
    if
    :: b != NONE ->
        use(b, p);
        atomic {
            if
            :: where[other] != NONE && (id[b] == p || FAULT == CARELESS) ->
                c = where[other]; fix[c]++
            :: else
            fi
        };
        if :: c != NONE -> use(c, other); fix[c]-- :: else fi;
        fix[b]--
    :: else
    fi;
    done++
}

/* Have a block while waiting for a page. */
proctype Holder(byte p) {
    LOCALS;
    lock();
    take(b);
    unlock();
    atomic { if :: where[p] != NONE -> c = where[p]; fix[c]++ :: else fi };
    if :: c != NONE -> use(c, p); fix[c]-- :: else fi;
    if :: b != NONE -> lock(); put(b); unlock() :: else fi;
    done++
}

/* Submit the read of the page in block b, which may be impossible. */
inline submit(b, batch) {
    if
    :: submitted[b] = (batch -> 1 : 2)
    :: SCENARIO == READ_AHEAD -> corrupted_evict(b)
    fi
}

/* A read-ahead of both pages */
proctype ReadAhead(bool batch) {
    LOCALS;
    byte n, n_free, p, pages[PAGES], n_pages, pos;
    bool ended;

    /* init() */
    lock();
    /* buf_LRU_free_several() */
    n = 0;
    do
    :: n < PAGES ->
        d_step {
            n_free = 0; i = 0;
            do :: i < N -> if :: st[i] == FREE -> n_free++ :: else fi; i++ :: else -> break od;
            i = 0
        };
        if
        :: n_free < PAGES ->
            evict(victim);
            if :: victim == NONE -> break :: else fi
        :: else -> break
        fi;
        n++
    :: else -> break
    od;
    assert(mutex == _pid);
    d_step {
        n_free = 0; i = 0;
        do :: i < N -> if :: st[i] == FREE -> n_free++ :: else fi; i++ :: else -> break od;
        i = 0;
        if :: shrinking && FAULT != SHRINK_IGNORED -> n_free = 0 :: else fi
    };
    p = 0;
    do
    :: p < PAGES && (p < n_free || FAULT == WAIT_PREPARED) ->
        if
        :: where[p] == NONE ->
            if
            :: FAULT == WAIT_PREPARED && n_pages == n_free -> get_free_block(b, false)
            :: else -> take(b)
            fi;
            assert(b != NONE);
            insert(b, p);
            pages[n_pages] = b; n_pages++
        :: else
        fi;
        p++
    :: else -> break
    od;
    unlock();

    do
    :: pos < n_pages -> submit(pages[pos], batch); pos++
    :: pos < n_pages -> ended = true; break     /* is_stopping() */
    :: pos == n_pages -> break
    od;

    if
    :: !ended ->
        /* the pages for which there was no block */
        do
        :: p < PAGES ->
            lock();
            init_for_read(b, p, batch);
            if :: b != NONE -> submitted[b] = (batch -> 1 : 2) :: else fi;
            p++
        :: else -> break
        od
    :: else
    fi;

    if :: batch -> flush() :: else fi;
    do
    :: pos < n_pages && FAULT != NOT_SUBMITTED -> submit(pages[pos], false); pos++
    :: else -> break
    od;
    done++
}

/* The reads that were submitted complete. */
proctype Io() {
    byte i;
    do
    :: atomic { submitted[0] == 2 -> submitted[0] = 0; is_read[0] = true; latched[0] = false }
#if N > 1
    :: atomic { submitted[1] == 2 -> submitted[1] = 0; is_read[1] = true; latched[1] = false }
    :: done == ends && submitted[0] != 2 && submitted[1] != 2 -> break
#else
    :: done == ends && submitted[0] != 2 -> break
#endif
    od
}

#if N > 1
#define ANY_EVICTABLE (evictable(0) || evictable(1))
#else
#define ANY_EVICTABLE evictable(0)
#endif

/* The page cleaner goes on until it evicted something. */
proctype Cleaner() {
    LOCALS;
    do
    :: told && ANY_EVICTABLE ->
        lock();
        evict(b);
        if :: b != NONE -> told = false; evict(b); d_step { broadcast() } :: else fi;
        unlock()
    :: done == ends -> break
    od
}

/* resize() to fewer blocks: shrink() up to three times, then done or aborted */
proctype Shrink() {
    LOCALS;
    byte rounds = 0;
    lock();
    to_withdraw = N - FIRST;
    shrinking = true;
    unlock();
    lock();
    do
    :: to_withdraw == 0 -> shrunk = true; break
    :: to_withdraw != 0 && rounds == 3 -> break
    :: to_withdraw != 0 && rounds < 3 ->
        rounds++;
        if
        :: st[FIRST] == FREE -> d_step { st[FIRST] = WITHDRAWN; to_withdraw-- }
        :: else -> evict(victim)
        fi;
        unlock();
        lock()
    od;
    assert(mutex == _pid);
    d_step {
        assert(!shrunk || (to_withdraw == 0 && st[FIRST] == WITHDRAWN));
        to_withdraw = 0;
        shrinking = false;
        if :: !shrunk && st[FIRST] == WITHDRAWN -> st[FIRST] = FREE; broadcast() :: else fi
    };
    unlock();
    done++
}

init {
    byte i = 0;
    atomic {
        do :: i < N -> st[i] = FREE; i++ :: else -> break od;
        ends = 3;
#if SCENARIO == MISS
        ends = 4;
        run Miss(0); run Miss(0); run Memory(); run Memory();
#elif SCENARIO == WAIT
        run Miss(0); run Memory(); run Memory();
#elif SCENARIO == READ_AHEAD
        ends = 4;
        run ReadAhead(false); run User(0); run User(1); run Miss(1);
#elif SCENARIO == BATCH
        ends = 2;
        run ReadAhead(true); run Holder(0);
#else
        run ReadAhead(false); run Miss(0); run Shrink();
#endif
        run Io(); run Cleaner();
    };
    done == ends && _nr_pr == 1;
    i = 0;
    assert(mutex == 0 && to_withdraw == 0);
    do
    :: i < N ->
        assert(owner[i] == 0 && st[i] != MEM);
        assert(st[i] != PAGE || (where[id[i]] == i && is_read[i] && !latched[i]));
        assert(fix[i] == 0);
        assert((st[i] == WITHDRAWN) == (shrunk && i >= FIRST));
        i++
    :: else -> break
    od
}
