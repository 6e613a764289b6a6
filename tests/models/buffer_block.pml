/* The life of a block of the buffer pool, as split-buffer-mutex has it: what is done
under buf_pool.mutex, what under buf_pool.free_mutex, and what under neither.
docs/patches/split-buffer-mutex.md argues in words what is checked here:

- a block belongs to one list or one thread at a time (ASSERTs in take(), own(), put());
- none is lost: when all threads are done, each is free, a page, or given up by the
  resizing that wanted it (init);
- no thread waits for ever (spin's check of invalid end states), with SCENARIO=WAIT and
  with SCENARIO=WAKE also without the timeout of a second;
- the latching order.

tests/fast/test_models.py runs it as it is, and with each of the FAULTs, which it must
find.  A block is named by its number; numbers of FIRST and above are to be withdrawn. */

/* Who takes part */
#define WAIT 1          /* three that allocate, one block, and no timeout */
#define RESIZE 2        /* a miss, other memory, resizing */
#define READ_AHEAD 3    /* read-ahead, page cleaner, resizing */
#define EVICT 4         /* a miss, read-ahead, page cleaner */
#define WAKE 5          /* a miss, two that allocate, one block, and no timeout; pages that
                           only the page cleaner can evict, when it is told to */
#ifndef SCENARIO
#define SCENARIO RESIZE
#endif

#if SCENARIO == WAIT || SCENARIO == WAKE
#define N 1
#else
#define N 2
#endif
#if SCENARIO == WAKE
#define ENDED 4
#else
#define ENDED 3
#endif
#define FIRST (N - 1)
#define NONE 255
#define PROCS 5

/* Faults that the model must find */
#define TOUCH_AFTER_PUT 1   /* the block is written to after it is in the free list */
#define NO_FREE_MUTEX 2     /* allocate() does not acquire free_mutex */
#define SPARE_LOST 3        /* shrink() ends without giving back its spare block */
#define COUNT_OUTSIDE 4     /* n_blocks_to_withdraw is changed without free_mutex */
#define NO_GENERATION 5     /* allocate_wait() does not look again before it waits */
#define WRONG_ORDER 6       /* mutex is acquired while holding free_mutex */
#define NOT_GIVEN_BACK 7    /* reserve()d blocks that were not needed are kept */
#define LIST_BEFORE_LRU 8   /* an evicted block is put to the free list before it left LRU */
#define NO_BROADCAST 9      /* release() does not broadcast done_free */
#define TOLD_ONCE 10        /* free_exhausted() is not invoked again before waiting again */
#ifndef FAULT
#define FAULT 0
#endif

mtype = { FREE, MEM, LRU, WITHDRAWN };

mtype st[N];            /* where the block is */
byte owner[N];          /* the thread it belongs to, if it is MEM; or 0 */
byte mutex;             /* who holds buf_pool.mutex, or 0 */
byte free_mutex;        /* who holds buf_pool.free_mutex, or 0 */
byte to_withdraw;       /* n_blocks_to_withdraw */
bool shrinking;         /* first_to_withdraw != nullptr; written under both mutexes */
byte gen;               /* n_done_free */
bool try_scan = true;   /* try_LRU_scan */
bool asleep[PROCS];     /* waiting for done_free */
byte done;              /* threads that ended */
bool shrunk;            /* shrink() succeeded */

#if SCENARIO != WAIT && SCENARIO != WAKE
/* The wait ends after a second, when nothing else can go on. */
#define wait() if :: !asleep[_pid] :: timeout -> asleep[_pid] = false fi
#else
#define wait() !asleep[_pid]
#endif

inline lock(m) { atomic { assert(m != _pid); m == 0 -> m = _pid } }
inline unlock(m) { assert(m == _pid); m = 0 }
inline lock_pool() { assert(FAULT == WRONG_ORDER || free_mutex != _pid); lock(mutex) }

inline broadcast() {
    d_step {
        gen++;
        try_scan = true;
        k = 0;
        do :: k < PROCS -> asleep[k] = false; k++ :: else -> break od;
        k = 0
    }
}

/* The thread uses the block. */
inline own(b) { assert(st[b] == MEM && owner[b] == _pid) }

/* allocate_low(): b is the first of the free list, or NONE. Between looking at the list and
taking from it, others run, if free_mutex lets them. */
inline take(b) {
    d_step {
        b = NONE;
        i = 0;
        do
        :: b == NONE && i < N ->
            if
            :: st[i] == FREE && to_withdraw > 0 && i >= FIRST ->
                assert(shrinking);
                st[i] = WITHDRAWN;
                to_withdraw--
            :: st[i] == FREE && !(to_withdraw > 0 && i >= FIRST) -> b = i
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    };
    if
    :: b != NONE -> d_step { assert(st[b] == FREE && owner[b] == 0); st[b] = MEM; owner[b] = _pid }
    :: else
    fi
}

inline allocate(b) {
    if
    :: FAULT == NO_FREE_MUTEX -> take(b)
    :: else -> lock(free_mutex); take(b); unlock(free_mutex)
    fi
}

/* release(): the last that is done to the block */
inline put(b) {
    own(b);
    lock(free_mutex);
    d_step {
        owner[b] = 0;
        if
        :: to_withdraw > 0 && b >= FIRST ->
            assert(shrinking);
            st[b] = WITHDRAWN;
            j = to_withdraw
        :: else -> st[b] = FREE
        fi
    };
    if
    :: j != 0 && FAULT != COUNT_OUTSIDE -> to_withdraw--
    :: j == 0 && FAULT != NO_BROADCAST -> broadcast()
    :: else
    fi;
    unlock(free_mutex);
    if :: j != 0 && FAULT == COUNT_OUTSIDE -> to_withdraw-- :: else fi;
    j = 0;
    if :: FAULT == TOUCH_AFTER_PUT -> assert(owner[b] == 0) :: else fi
}

/* buf_LRU_free_page(), under mutex; b: the page, or NONE */
inline evict(b) {
    d_step {
        assert(mutex == _pid);
        b = NONE;
        i = 0;
        do
        :: b == NONE && i < N -> if :: st[i] == LRU -> b = i :: else fi; i++
        :: else -> break
        od;
        i = 0;
        if
        :: b != NONE && FAULT != LIST_BEFORE_LRU -> st[b] = MEM; owner[b] = _pid
        :: else
        fi
    };
    if
    :: b != NONE && FAULT == LIST_BEFORE_LRU ->
        lock(free_mutex); st[b] = FREE; broadcast(); unlock(free_mutex);
        assert(st[b] == FREE)      /* buf_LRU_remove_block() */
    :: b != NONE && FAULT != LIST_BEFORE_LRU -> put(b)
    :: else
    fi
}

/* buf_page_init_for_read(), under mutex: the block becomes a page */
inline insert(b) {
    assert(mutex == _pid);
    d_step { own(b); owner[b] = 0; st[b] = LRU }
}

/* free_exhausted() */
inline exhausted() {
    lock(free_mutex);
    d_step {
        i = 0;
        do :: i < N && st[i] != FREE -> i++ :: else -> break od;
        if :: i == N -> try_scan = false :: else fi;
        i = 0
    };
    unlock(free_mutex)
}

/* buf_LRU_get_free_block() */
inline get_free_block(b) {
    allocate(b);
    if
    :: b != NONE -> skip
    :: else ->
        lock_pool();
        seen = gen;
#if SCENARIO != WAKE
        do
        :: evict(victim);
            /* buf_LRU_evict(): perhaps some more */
            if :: victim != NONE -> evict(c) :: else fi;
            allocate(b);
            if :: b != NONE -> break :: b == NONE && victim == NONE -> break :: else fi
        od;
#else
        exhausted();
        allocate(b);
#endif
        unlock(mutex);
        do
        :: b != NONE -> break
        :: else ->
            /* here the page cleaner is woken up */
#if SCENARIO == WAKE
            if :: FAULT == TOLD_ONCE -> skip :: else -> exhausted() fi;
#endif
            /* allocate_wait(): */
            if
            :: FAULT == NO_GENERATION ->
                lock(free_mutex);
                atomic { unlock(free_mutex); asleep[_pid] = true };
                wait();
                lock(free_mutex)
            :: else ->
                lock(free_mutex);
                take(b);
                if
                :: b == NONE && gen == seen ->
                    atomic { unlock(free_mutex); asleep[_pid] = true };
                    wait();
                    lock(free_mutex)
                :: else
                fi
            fi;
            if :: b == NONE -> take(b) :: else fi;
            unlock(free_mutex);
            if
            :: b == NONE ->
                lock_pool();
                seen = gen;
                allocate(b);
                unlock(mutex)
            :: else
            fi
        od
    fi
}

#define LOCALS byte b = NONE, c = NONE, victim = NONE, i, k, j, seen

/* A miss of one page: one acquisition of mutex */
proctype Miss() {
    LOCALS;
    get_free_block(b);
    own(b);
    lock_pool();
    if
    :: insert(b)
    :: put(b)           /* some other thread has read the page */
    fi;
    unlock(mutex);
    done++
}

/* Something that is no page: buf_block_alloc(), free_block(), without mutex */
proctype Memory() {
    LOCALS;
    get_free_block(b);
    own(b);
    put(b);
    done++
}

/* A read-ahead of two pages: reserve(), one hold of mutex, with buf_LRU_evict() and
another reserve() if there were not enough free blocks, unreserve() */
proctype ReadAhead() {
    LOCALS;
    lock(free_mutex);
    take(b);
    if :: b != NONE -> take(c) :: else fi;
    unlock(free_mutex);
    lock_pool();
    if
    :: c == NONE ->
        evict(victim);
        if
        :: victim != NONE ->
            lock(free_mutex);
            if :: b == NONE -> take(b) :: else -> take(c) fi;
            unlock(free_mutex)
        :: else
        fi
    :: else
    fi;
    if :: b != NONE -> insert(b) :: else fi;
    if
    :: c != NONE -> if :: insert(c); c = NONE :: skip fi
    :: else
    fi;
    unlock(mutex);
    if :: c != NONE && FAULT != NOT_GIVEN_BACK -> put(c) :: else fi;
    done++
}

/* The page cleaner: evicts up to two pages in a hold of mutex */
proctype Cleaner() {
    LOCALS;
    lock_pool();
    evict(b);
    if :: b != NONE -> evict(b) :: else fi;
    lock(free_mutex);
    broadcast();        /* free_notify() */
    if
    :: FAULT == WRONG_ORDER -> unlock(mutex); lock_pool()
    :: else
    fi;
    unlock(free_mutex);
    unlock(mutex);
    done++
}

/* The page cleaner: evicts a page when there is somebody who waits for a block */
proctype Told() {
    LOCALS;
    do
    :: !try_scan ->
        lock_pool();
        evict(b);
        unlock(mutex)
    :: done == 3 -> done++; break
    od
}

/* resize() to fewer blocks: shrink() up to twice, then withdraw_done or shrink_aborted() */
proctype Shrink() {
    LOCALS;
    byte rounds = 0;
    lock_pool();
    lock(free_mutex);
    to_withdraw = N - FIRST;
    shrinking = true;
    unlock(free_mutex);
    do
    :: to_withdraw == 0 -> shrunk = true; break
    :: to_withdraw != 0 && rounds == 2 -> break
    :: to_withdraw != 0 && rounds < 2 ->
        rounds++;
        lock(free_mutex);
        d_step {
            i = FIRST;
            do
            :: i < N && st[i] == FREE -> st[i] = WITHDRAWN; to_withdraw--; i++
            :: i < N && st[i] != FREE -> i++
            :: else -> break
            od;
            i = 0
        };
        unlock(free_mutex);
        if
        :: to_withdraw == 0 -> skip
        :: else ->
            allocate(b);                /* the spare block */
            if
            :: b != NONE && st[FIRST] == LRU ->
                /* b takes over the page of FIRST */
                insert(b);
                b = NONE;
                lock(free_mutex);
                d_step { st[FIRST] = WITHDRAWN; to_withdraw-- };
                unlock(free_mutex)
            :: else
            fi;
            if
            :: b != NONE ->
                if
                :: FAULT == SPARE_LOST && to_withdraw == 0 -> skip
                :: else -> put(b)
                fi;
                b = NONE
            :: else
            fi;
            /* wait for the page cleaner */
            unlock(mutex);
            lock_pool()
        fi
    od;
    lock(free_mutex);
    assert(!shrunk || to_withdraw == 0);
    to_withdraw = 0;
    shrinking = false;
    d_step {
        i = FIRST;
        do
        :: i < N ->
            assert(!shrunk || st[i] == WITHDRAWN);
            if
            :: !shrunk && st[i] == WITHDRAWN -> st[i] = FREE
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    };
    broadcast();
    unlock(free_mutex);
    unlock(mutex);
    done++
}

init {
    byte i = 0;
    atomic {
        do :: i < N -> st[i] = FREE; i++ :: else -> break od;
#if SCENARIO == WAIT
        run Memory(); run Memory(); run Memory();
#elif SCENARIO == WAKE
        run Miss(); run Memory(); run Memory(); run Told();
#elif SCENARIO == RESIZE
        run Miss(); run Memory(); run Shrink();
#elif SCENARIO == READ_AHEAD
        run ReadAhead(); run Cleaner(); run Shrink();
#else
        run Miss(); run ReadAhead(); run Cleaner();
#endif
    };
    done == ENDED;
    assert(to_withdraw == 0);
    i = 0;
    do
    :: i < N ->
        assert(owner[i] == 0);
        assert(st[i] != MEM);
        assert((st[i] == WITHDRAWN) == (shrunk && i >= FIRST));
        i++
    :: else -> break
    od
}
