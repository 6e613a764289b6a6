#pragma once
#include "policies.h"
/* EXPLORE */
struct LazyParams { uint32_t pct= 37, max= 3, window= 64, ghost= 100, prob= 0, mid= 0, reset= 0, created= 0, gcount= 0, inc=0, every=1, adapt=0, wt=1;  };
struct Lazy : Midpoint
{
  LazyParams p;
  std::vector<uint32_t> stamp;
  std::vector<uint8_t> count, main, gp; int64_t credit=0; uint64_t gu=0, gn=0;
  Ghosts out;
  Lazy(uint32_t blocks, size_t pages, LazyParams p) : Midpoint(blocks, pages, p.pct), p(p), stamp(pages), count(pages), main(pages), gp(pages), out(pages, uint64_t(blocks) * p.ghost / 100) {}
  bool demote(uint32_t page) override
  {
    if (!p.mid || !count[page]) return true;
    // move to head: still not old
    chances++;
    count[page]= p.reset ? 0 : count[page] - 1;
    list.remove(page); list.add_first(page);
    return false;
  }
  ~Lazy() { if (getenv("V")) printf(" [used %llu not %llu]", (unsigned long long)gu, (unsigned long long)gn); }
  void access(uint32_t page, bool created, uint32_t, size_t) override
  {
    if (cached[page])
    {
      if (count[page] < p.max && clock - stamp[page] >= (p.window ? blocks / p.window : 0) && !(p.prob && !main[page]))
      { count[page]++; stamp[page]= clock; hits++; }
      return;
    }
    misses+= !created;
    bool again= !created && out.take(page);
    ghosts+= again;
    if (again && (!p.adapt || credit < 0) && ghosts % p.every) again= false;
    if (list.length == blocks)
    {
      while (count[list.last])
      {
        const uint32_t v= list.last;
        chances++;
        remove(v);
        count[v]= p.reset ? 0 : count[v] - 1;
        main[v]= 1; if (gp[v]) { gp[v]=0; gu++; credit= std::min<int64_t>(credit+p.wt, blocks/16); }
        add(v, false);
      }
      const uint32_t v= list.last;
      clock++;
      unused+= !main[v]; if (gp[v]) { gn++; gp[v]=0; credit= std::max<int64_t>(credit-1, -int64_t(blocks/16)); }
      remove(v);
      out.add(v);
    }
    main[page]= again || (created && !p.created);
    count[page]= again ? p.gcount : 0;
    gp[page]= again;
    stamp[page]= clock;
    add(page, !main[page]);
  }
};
