/* What the patch lazy-promotion does; the names are those of its functions. */
#pragma once
#include "policies.h"

struct Lazy : Midpoint
{
  static constexpr uint32_t HITS= 3;            /* buf_block_t::LRU_HITS */
  static constexpr uint32_t WHILE= 64;          /* BUF_LRU_LAZY_WHILE */
  static constexpr uint32_t AREA= 64;           /* buf_pool.read_ahead_area */
  static constexpr size_t N= 8;                 /* buf_LRU_ghosts_t::N */
  static constexpr uint32_t MAX= 128;           /* BUF_LRU_CHANCES_MAX */
  static constexpr uint32_t PER_EVICTION= 4;    /* BUF_LRU_CHANCES_PER_EVICTION */

  /* buf_LRU_ghosts_t */
  struct Hashes
  {
    struct Bucket { uint16_t hash[N]; };
    std::vector<Bucket> buckets;

    static uint64_t mix(uint64_t n)
    {
      n*= 0x9e3779b97f4a7c15ULL;
      return (n ^ n >> 32) * 0xd6e8feb86659fd93ULL;
    }
    Bucket &find(Word id, uint16_t &hash)
    {
      const uint64_t h= mix(id);
      hash= uint16_t(h | !uint16_t(h));
      return buckets[size_t(((h >> 32) * buckets.size()) >> 32)];
    }
    void add(Word id)
    {
      if (buckets.empty())
        return;
      uint16_t hash;
      Bucket &b= find(id, hash);
      std::copy_backward(b.hash, b.hash + N - 1, b.hash + N);
      b.hash[0]= hash;
    }
    bool remove(Word id)
    {
      if (buckets.empty())
        return false;
      uint16_t hash;
      for (uint16_t &h : find(id, hash).hash)
        if (h == hash)
        {
          h= 0;
          return true;
        }
      return false;
    }
  };

  /* buf_block_t::lru_use of each page */
  struct Use { uint32_t clock; uint8_t hits; };

  const std::vector<Word> &ids;
  std::vector<Use> use;
  Hashes hashes;
  uint32_t left= 0;                             /* buf_LRU_chances */
  const uint32_t blocks, pause, every;

  /* With time == 0, each hit counts; every: 1 adds all ghost hits to the start, 2 the chosen half;
  ghosts: how many pages are known, in percent of the pool. */
  Lazy(uint32_t blocks, const std::vector<Word> &ids, uint32_t old_pct, uint32_t time,
       uint32_t depth, uint32_t every, uint32_t ghosts) :
    Midpoint(blocks, ids.size(), old_pct * DIV / 100, depth), ids(ids), use(ids.size()),
    blocks(blocks), pause(time ? blocks / WHILE : 0), every(every)
  { hashes.buckets.resize(size_t{blocks} * ghosts / 100 / N); }

  void evict() override
  {
    const uint32_t page= list.last;
    if (left && use[page].hits)                 /* buf_LRU_second_chance() */
    {
      left--;
      chances++;
      use[page].hits--;
      remove(page);
      add(page, false);
      return;
    }
    clock++;
    left= std::min(left + PER_EVICTION, MAX);
    hashes.add(ids[page]);
    remove(page);
  }
  void access(uint32_t page, bool created, uint32_t, size_t) override
  {
    if (cached[page])                           /* buf_block_t::lru_hit() */
    {
      Use &u= use[page];
      if (clock && u.hits < HITS && clock - u.clock >= pause)
      {
        u.clock= clock;
        u.hits++;
        hits++;
      }
      return;
    }
    misses+= !created;
    get_free();
    use[page]= {clock, 0};
    bool to_old= !created;
    if (to_old && hashes.remove(ids[page]))     /* buf_LRU_add_block() */
    {
      ghosts++;
      to_old= every > 1 && !(Hashes::mix(ids[page] / AREA + clock / blocks) >> 63);
    }
    add(page, to_old);
  }
};
