/* Policies of page replacement.  Pages are numbers from 0 on, in a pool of so many blocks. */
#pragma once
#include "trace.h"
#include <algorithm>
#include <memory>
#include <stdexcept>

constexpr uint32_t NONE= ~0U;

struct Policy
{
  const uint32_t blocks;
  /* pages read; pages moved in a list by a hit; pages that the evicting thread moved or passed;
  hits that were counted; pages that were known when they came back */
  uint64_t misses= 0, moves= 0, chances= 0, hits= 0, ghosts= 0;

  explicit Policy(uint32_t blocks) : blocks(blocks) {}
  virtual ~Policy() = default;
  /* An access to a page, at a time in milliseconds, that is next accessed at a position.
  The policy counts a miss unless the page is there or was created. */
  virtual void access(uint32_t page, bool created, uint32_t now, size_t next)= 0;
};

/* Doubly linked lists of the same pages; a page is in one of them or in none. */
struct Links
{
  std::vector<uint32_t> prev, next;
  explicit Links(size_t pages) : prev(pages, NONE), next(pages, NONE) {}
};

struct List
{
  Links &links;
  uint32_t first= NONE, last= NONE, length= 0;

  void add_after(uint32_t page, uint32_t before)
  {
    const uint32_t after= before == NONE ? first : links.next[before];
    links.prev[page]= before;
    links.next[page]= after;
    (before == NONE ? first : links.next[before])= page;
    (after == NONE ? last : links.prev[after])= page;
    length++;
  }
  void add_first(uint32_t page) { add_after(page, NONE); }
  void remove(uint32_t page)
  {
    const uint32_t before= links.prev[page], after= links.next[page];
    (before == NONE ? first : links.next[before])= after;
    (after == NONE ? last : links.prev[after])= before;
    length--;
  }
};

struct Lru : Policy
{
  Links links;
  List list{links};
  std::vector<bool> cached;

  Lru(uint32_t blocks, size_t pages) : Policy(blocks), links(pages), cached(pages) {}
  void access(uint32_t page, bool created, uint32_t, size_t) override
  {
    if (cached[page])
    {
      moves+= list.first != page;
      list.remove(page);
    }
    else
    {
      misses+= !created;
      if (list.length == blocks)
      {
        cached[list.last]= false;
        list.remove(list.last);
      }
      cached[page]= true;
    }
    list.add_first(page);
  }
};

/* Belady's optimum: evicts the page that is used last.  A bound, not a policy. */
struct Optimum : Policy
{
  std::vector<std::pair<size_t, uint32_t>> heap;    /* may hold old entries of a page */
  std::vector<size_t> next_use;
  std::vector<bool> cached;
  uint32_t n= 0;

  Optimum(uint32_t blocks, size_t pages) : Policy(blocks), next_use(pages), cached(pages) {}
  void access(uint32_t page, bool created, uint32_t, size_t next) override
  {
    next_use[page]= next;
    heap.emplace_back(next, page);
    std::push_heap(heap.begin(), heap.end());
    if (cached[page])
      return;
    misses+= !created;
    cached[page]= true;
    for (n++; n > blocks;)
    {
      const auto top= heap.front();
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
      if (cached[top.second] && next_use[top.second] == top.first)
      {
        cached[top.second]= false;
        n--;
      }
    }
  }
};

/* A bit a page; the hand clears it, and evicts a page without. */
struct Clock : Policy
{
  std::vector<uint32_t> frames, frame_of;
  std::vector<bool> used;
  uint32_t hand= 0;

  Clock(uint32_t blocks, size_t pages) :
    Policy(blocks), frame_of(pages, NONE), used(blocks) {}
  void access(uint32_t page, bool created, uint32_t, size_t) override
  {
    if (frame_of[page] != NONE)
    {
      used[frame_of[page]]= true;
      return;
    }
    misses+= !created;
    if (frames.size() < blocks)
    {
      frame_of[page]= uint32_t(frames.size());
      frames.push_back(page);
      return;
    }
    for (; used[hand]; hand= (hand + 1) % blocks, chances++)
      used[hand]= false;
    frame_of[frames[hand]]= NONE;
    frames[hand]= page;
    frame_of[page]= hand;
    hand= (hand + 1) % blocks;
  }
};

/* Zhang and others, NSDI 2024: a queue that is never reordered; the hand moves to the young. */
struct Sieve : Policy
{
  Links links;
  List list{links};
  std::vector<uint8_t> state;           /* 0: not there, 1: there, 2: used since the hand passed */
  uint32_t hand= NONE;

  Sieve(uint32_t blocks, size_t pages) : Policy(blocks), links(pages), state(pages) {}
  void access(uint32_t page, bool created, uint32_t, size_t) override
  {
    if (state[page])
    {
      state[page]= 2;
      return;
    }
    misses+= !created;
    if (list.length == blocks)
    {
      if (hand == NONE)
        hand= list.last;
      while (state[hand] == 2)
      {
        state[hand]= 1;
        chances++;
        hand= links.prev[hand] == NONE ? list.last : links.prev[hand];
      }
      const uint32_t victim= hand;
      hand= links.prev[victim];
      list.remove(victim);
      state[victim]= 0;
    }
    state[page]= 1;
    list.add_first(page);
  }
};

/* The pages that were evicted last, exactly. */
struct Ghosts
{
  std::vector<uint64_t> evicted;        /* when, from 1 on */
  uint64_t clock= 0;
  const uint64_t length;

  Ghosts(size_t pages, uint64_t length) : evicted(pages), length(length) {}
  void add(uint32_t page) { evicted[page]= ++clock; }
  bool take(uint32_t page)
  {
    const bool found= evicted[page] && clock - evicted[page] < length;
    evicted[page]= 0;
    return found;
  }
};

/* Johnson and Shasha, VLDB 1994: a queue for new pages, ghosts of them, an LRU list. */
struct TwoQ : Policy
{
  Links links;
  List in{links}, main{links};
  std::vector<uint8_t> place;           /* 1: in, 2: main */
  Ghosts out;
  const uint32_t in_length;

  TwoQ(uint32_t blocks, size_t pages) :
    Policy(blocks), links(pages), place(pages), out(pages, blocks / 2), in_length(blocks / 4) {}
  void access(uint32_t page, bool created, uint32_t, size_t) override
  {
    if (place[page] == 1)
      return;
    if (place[page] == 2)
    {
      moves+= main.first != page;
      main.remove(page);
      main.add_first(page);
      return;
    }
    misses+= !created;
    const bool again= out.take(page);
    ghosts+= again;
    if (in.length + main.length == blocks)
    {
      List &from= in.length > in_length || !main.length ? in : main;
      const uint32_t victim= from.last;
      from.remove(victim);
      place[victim]= 0;
      if (&from == &in)
        out.add(victim);
    }
    (again ? main : in).add_first(page);
    place[page]= again ? 2 : 1;
  }
};

/* Yang and others, SOSP 2023: a small queue, ghosts, a main queue with a count of 0 to 3. */
struct S3Fifo : Policy
{
  Links links;
  List small{links}, main{links};
  std::vector<uint8_t> place, count;
  Ghosts out;
  const uint32_t small_length;
  const uint8_t needed;                 /* count that takes a page from small to main */

  S3Fifo(uint32_t blocks, size_t pages, double share= .1, uint8_t needed= 2, double ghost= .9) :
    Policy(blocks), links(pages), place(pages), count(pages),
    out(pages, uint64_t(blocks * ghost)), small_length(uint32_t(blocks * share)), needed(needed) {}
  void evict_main()
  {
    for (;;)
    {
      const uint32_t page= main.last;
      main.remove(page);
      if (!count[page])
      {
        place[page]= 0;
        return;
      }
      count[page]--;
      chances++;
      main.add_first(page);
    }
  }
  void evict()
  {
    if (small.length <= small_length && main.length)
      return evict_main();
    while (small.length)
    {
      const uint32_t page= small.last;
      small.remove(page);
      if (count[page] >= needed)
      {
        count[page]= 0;
        chances++;
        main.add_first(page);
        place[page]= 2;
        continue;
      }
      place[page]= 0;
      out.add(page);
      return;
    }
    evict_main();
  }
  void access(uint32_t page, bool created, uint32_t, size_t) override
  {
    if (place[page])
    {
      count[page]= uint8_t(std::min(count[page] + 1, 3));
      return;
    }
    misses+= !created;
    const bool again= out.take(page);
    ghosts+= again;
    if (small.length + main.length == blocks)
      evict();
    count[page]= 0;
    (again ? main : small).add_first(page);
    place[page]= again ? 2 : 1;
  }
};

/* buf_pool.LRU: a list whose last part is old.  New pages become the first old ones. */
struct Midpoint : Policy
{
  static constexpr uint32_t MIN_LEN= 512, TOLERANCE= 20, NON_OLD_MIN_LEN= 5, DIV= 1024;

  Links links;
  List list{links};
  std::vector<bool> cached, is_old;
  uint32_t old= NONE, old_len= 0;
  const uint32_t ratio;
  uint32_t clock= 0;                    /* buf_pool.freed_page_clock */
  /* buf_pool.LRU_scan_depth: blocks that the page cleaner keeps free; 0: evict when needed */
  const uint32_t depth;

  Midpoint(uint32_t blocks, size_t pages, uint32_t ratio, uint32_t depth) :
    Policy(blocks), links(pages), cached(pages), is_old(pages),
    ratio(std::min(std::max(ratio, 51U), DIV)), depth(depth) {}

  /* Evicts a page, or moves one. */
  virtual void evict()
  {
    clock++;
    remove(list.last);
  }
  void get_free()                       /* buf_LRU_get_free_block(), buf_flush_LRU_list_batch() */
  {
    const uint32_t min_len= std::min(blocks / 20 - 1, 256U);
    if (depth && blocks - list.length < depth / 2)
      while (list.length > min_len && blocks - list.length < depth)
        evict();
    while (list.length == blocks)
      evict();
  }
  void adjust()                         /* buf_LRU_old_adjust_len() */
  {
    const uint32_t wanted= std::min(list.length * ratio / DIV,
                                    list.length - (TOLERANCE + NON_OLD_MIN_LEN));
    for (;;)
      if (old_len + TOLERANCE < wanted)
      {
        old= links.prev[old];
        is_old[old]= true;
        old_len++;
      }
      else if (old_len > wanted + TOLERANCE)
      {
        is_old[old]= false;
        old= links.next[old];
        old_len--;
      }
      else
        return;
  }
  void add(uint32_t page, bool to_old)  /* buf_LRU_add_block() */
  {
    cached[page]= true;
    if (!to_old || list.length < MIN_LEN)
    {
      list.add_first(page);
      is_old[page]= false;
    }
    else
    {
      list.add_after(page, old);
      is_old[page]= true;
      old_len++;
    }
    if (list.length > MIN_LEN)
      adjust();
    else if (list.length == MIN_LEN)
    {
      for (uint32_t p= list.first; p != NONE; p= links.next[p])
        is_old[p]= true;
      old= list.first;
      old_len= list.length;
      adjust();
    }
  }
  void remove(uint32_t page)            /* buf_LRU_remove_block() */
  {
    cached[page]= false;
    if (page == old)
    {
      old= links.prev[page];
      is_old[old]= true;
      old_len++;
    }
    list.remove(page);
    if (list.length < MIN_LEN)
    {
      for (uint32_t p= list.first; p != NONE; p= links.next[p])
        is_old[p]= false;
      old= NONE;
      old_len= 0;
      return;
    }
    if (is_old[page])
      old_len--;
    adjust();
  }
};

/* What vanilla does: buf_page_make_young_if_needed(). */
struct Vanilla : Midpoint
{
  const uint32_t old_time;              /* innodb_old_blocks_time */
  std::vector<uint32_t> first, stamp;

  Vanilla(uint32_t blocks, size_t pages, uint32_t old_pct, uint32_t old_time, uint32_t depth) :
    Midpoint(blocks, pages, old_pct * DIV / 100, depth), old_time(old_time), first(pages),
    stamp(pages) {}
  void access(uint32_t page, bool created, uint32_t now, size_t) override
  {
    if (!cached[page])
    {
      misses+= !created;
      get_free();
      stamp[page]= 0;
      add(page, !created);
      if (created)
        stamp[page]= clock;
      first[page]= now;
    }
    if (clock && (old_time && is_old[page]
                  ? now - first[page] >= old_time
                  : clock >= stamp[page] + uint64_t{blocks} * (DIV - ratio) / (DIV * 4)))
    {
      moves++;
      remove(page);
      add(page, false);
      stamp[page]= clock;
    }
  }
};
