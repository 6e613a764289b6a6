#include "lazy.h"
#include <map>
#include <cstring>
#include <chrono>
static std::unique_ptr<Policy> make(const std::string &spec, uint32_t blocks, size_t pages)
{
  std::string name= spec.substr(0, spec.find(':'));
  std::map<std::string, double> o;
  if (spec.find(':') != std::string::npos) {
    std::string r= spec.substr(spec.find(':') + 1);
    char *s= r.data();
    for (char *tok= strtok(s, ","); tok; tok= strtok(nullptr, ",")) { char *e= strchr(tok, '='); *e= 0; o[tok]= atof(e+1); }
  }
  auto g=[&](const char *k, double d){ auto i=o.find(k); return i==o.end()?d:i->second; };
  if (name=="lru") return std::make_unique<Lru>(blocks,pages);
  if (name=="opt") return std::make_unique<Optimum>(blocks,pages);
  if (name=="clock") return std::make_unique<Clock>(blocks,pages);
  if (name=="sieve") return std::make_unique<Sieve>(blocks,pages);
  if (name=="2q") return std::make_unique<TwoQ>(blocks,pages);
  if (name=="s3fifo") return std::make_unique<S3Fifo>(blocks,pages,g("small",.1),uint8_t(g("needed",2)),g("ghost",.9));
  if (name=="vanilla") return std::make_unique<Vanilla>(blocks,pages,g("pct",37),g("time",1000));
  if (name=="lazy") { LazyParams p; p.pct=g("pct",37);p.max=g("max",3);p.window=g("window",64);p.ghost=g("ghost",100);p.prob=g("prob",0);p.mid=g("mid",0);p.reset=g("reset",0);p.created=g("created",0);p.gcount=g("gcount",0);p.every=g("every",1);p.adapt=g("adapt",0);p.wt=g("wt",1); return std::make_unique<Lazy>(blocks,pages,p); }
  abort();
}
int main(int argc, char **argv)
{
  // explore TRACE BLOCKS POLICY...
  Trace t;
  std::string kind= argv[1];
  if (kind=="tpcc") Tpcc(t, 8, 1).run(atoi(getenv("N")?:"30000"));
  else if (kind=="tpccscan") { Trace a; Tpcc(a,8,1).run(atoi(getenv("N")?:"30000")); size_t tx=0; for (Word w: a.words) { t.words.push_back(w); if (w==END && ++tx % 850==0) for (uint32_t pg=0; pg<16000;pg++) for (int r=0;r<20;r++) t.access(99,pg); } }
  else if (kind=="zipf") zipf(t, 40000, 2000000, atof(getenv("S")?:"0.9"), 0, 1);
  else if (kind=="zipfscan") zipf(t, 40000, 2000000, atof(getenv("S")?:"0.9"), 100000, 1);
  else if (kind=="loop") loop(t, 12000, 20);
  std::unordered_map<Word,uint32_t> ids; std::vector<uint32_t> seq; std::vector<uint8_t> cr; size_t tx=0;
  seq.reserve(t.words.size());
  for (Word w: t.words) if (w==END) { seq.push_back(NONE); cr.push_back(0); tx++; } else { auto r= ids.emplace(w & ~CREATED, ids.size()); seq.push_back(r.first->second); cr.push_back((w>>63)|((w<<1>>33)==99||(w<<1>>33)==2&&kind[0]=='z'?2:0)); }
  const size_t pages= ids.size();
  std::vector<size_t> next(seq.size(), ~size_t{0}), last(pages, ~size_t{0});
  for (size_t i=seq.size(); i--;) if (seq[i]!=NONE) { next[i]=last[seq[i]]; last[seq[i]]=i; }
  printf("%s: %zu accesses %zu pages %zu transactions\n", argv[1], seq.size()-tx, pages, tx);
  double rate= atof(getenv("RATE")?:"37000");
  for (int i=3;i<argc;i++) {
    printf("%-44s", argv[i]);
    std::string bs= argv[2]; char *s=bs.data(); 
    for (char *tok= strtok(s,","); tok; ) {
      uint32_t blocks= atoi(tok); std::string rest; char *save=tok+strlen(tok)+1; bool more= save < s+bs.size();
      auto p= make(argv[i], blocks, pages);
      size_t warm= seq.size()/3, done=0; uint64_t m0=0, mv0=0, c0=0,h0=0; size_t n=0; uint64_t fg=0,bg=0;
      auto t0=std::chrono::steady_clock::now();
      for (size_t j=0;j<seq.size();j++) {
        if (j==warm) { m0=p->misses; mv0=p->moves; c0=p->chances; h0=p->hits; done=0; }
        if (seq[j]==NONE) { done++; continue; }
        uint64_t mb=p->misses; p->access(seq[j], cr[j]&1, uint32_t(double(n++)*1000/rate), next[j]); if (cr[j]&2) bg+=j>=warm?p->misses-mb:0; else fg+=j>=warm?p->misses-mb:0;
      }
      std::chrono::duration<double>(std::chrono::steady_clock::now()-t0).count();
      printf(" | fg %8.3f bg %7.2f mv %6.2f ch %6.2f h %6.2f gh %llu ", double(fg)/done, double(bg)/done, double(p->moves-mv0)/done, double(p->chances-c0)/done, double(p->hits-h0)/done, (unsigned long long)p->ghosts);
      tok= more ? strtok(save, ",") : nullptr; if (tok) { bs= std::string(tok)+ (strchr(tok,0)+1 < s+bs.size() ? "," + std::string(strchr(tok,0)+1):""); s=bs.data(); tok=strtok(s,","); }
    }
    printf("\n"); fflush(stdout);
  }
}
