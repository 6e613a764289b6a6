/* Replays traces of page accesses against policies of page replacement, and makes traces up.
See the text of usage() below, trace.h for the format, policies.h and lazy.h for the policies. */
#include "lazy.h"
#include <cstdlib>
#include <cstring>
#include <map>

namespace
{
[[noreturn]] void usage()
{
  fputs("Usage: bench/replay [OPTION=VALUE...] TRACE BLOCKS [POLICY...]\n"
        "       bench/replay [OPTION=VALUE...] --write TRACE > FILE\n"
        "\n"
        "TRACE is a file, - for standard input, or one that is made up: tpcc, zipf, loop.\n"
        "BLOCKS is the size of the pool, or several: 10240,5120.\n"
        "POLICY, with options of its own as in vanilla:time=0,pct=20:\n"
        "  lru clock sieve 2q optimum\n"
        "  s3fifo     small=0.1 needed=2 ghost=0.9\n"
        "  vanilla    pct=37 time=1000 depth=0\n"
        "  lazy       pct=37 time=1000 depth=0 every=2 ghosts=50\n"
        "\n"
        "Options, with their defaults:\n"
        "  warm=0.33         part of the trace that is replayed before it is counted\n"
        "  rate=37000        accesses a second, for the time that vanilla reads\n"
        "  transactions=20000 seed=1\n"
        "  warehouses=8 uniform=0            tpcc\n"
        "  pages=40000 skew=0.9              zipf, loop\n"
        "  scan_every=0 scan_pages=16000 scan_step=16000\n"
        "                    tpcc, zipf: a scan begins every so many transactions, and reads\n"
        "                    that many pages after each\n", stderr);
  exit(2);
}

[[noreturn]] void die(const std::string &what)
{
  fprintf(stderr, "bench/replay: %s\n", what.c_str());
  exit(1);
}

/* Options by name; what is asked for must be known. */
class Options
{
  std::map<std::string, double> values;
public:
  explicit Options(std::map<std::string, double> defaults) : values(std::move(defaults)) {}
  void set(const std::string &text)
  {
    const size_t equals= text.find('=');
    const auto value= values.find(text.substr(0, equals));
    char *end= nullptr;
    if (equals == std::string::npos || value == values.end())
      die("'" + text + "' is not an option; bench/replay --help lists them");
    value->second= strtod(text.c_str() + equals + 1, &end);
    if (end == text.c_str() + equals + 1 || *end || !(value->second >= 0))
      die("'" + text + "': not a number");
  }
  double operator[](const char *name) const { return values.at(name); }
  uint32_t whole(const char *name) const { return uint32_t(values.at(name)); }
};

std::vector<std::string> split(const std::string &text, char by)
{
  std::vector<std::string> parts;
  for (size_t from= 0, to; from <= text.size(); from= to + 1)
  {
    to= std::min(text.find(by, from), text.size());
    parts.push_back(text.substr(from, to - from));
  }
  return parts;
}

/* A trace whose pages are numbered from 0 on. */
struct Replay
{
  struct Access { uint32_t page; bool created, scan; };
  std::vector<Word> ids;
  std::vector<Access> accesses;         /* with page NONE at the end of a transaction */
  std::vector<size_t> next;             /* when the page is accessed again */
  size_t transactions= 0;

  explicit Replay(const Trace &t)
  {
    std::unordered_map<Word, uint32_t> numbers;
    accesses.reserve(t.words.size());
    for (const Word word : t.words)
      if (word == END)
      {
        accesses.push_back({NONE, false, false});
        transactions++;
      }
      else
      {
        const Word id= word & ~(CREATED | SCAN);
        const auto number= numbers.emplace(id, uint32_t(ids.size()));
        if (number.second)
          ids.push_back(id);
        accesses.push_back({number.first->second, !!(word & CREATED), !!(word & SCAN)});
      }
    std::vector<size_t> last(ids.size(), ~size_t{0});
    next.resize(accesses.size());
    for (size_t i= accesses.size(); i--;)
      if (accesses[i].page != NONE)
        std::swap(next[i]= i, last[accesses[i].page]);
  }
};

std::unique_ptr<Policy> make(const std::string &text, uint32_t blocks,
                             const std::vector<Word> &ids)
{
  const size_t colon= text.find(':');
  const std::string name= text.substr(0, colon);
  std::map<std::string, double> known;
  if (name == "s3fifo")
    known= {{"small", .1}, {"needed", 2}, {"ghost", .9}};
  else if (name == "vanilla")
    known= {{"pct", 37}, {"time", 1000}, {"depth", 0}};
  else if (name == "lazy")
    known= {{"pct", 37}, {"time", 1000}, {"depth", 0}, {"every", 2}, {"ghosts", 50}};
  Options o(known);
  if (colon != std::string::npos)
    for (const std::string &option : split(text.substr(colon + 1), ','))
      o.set(option);
  const size_t pages= ids.size();
  if (name == "lru")
    return std::make_unique<Lru>(blocks, pages);
  if (name == "clock")
    return std::make_unique<Clock>(blocks, pages);
  if (name == "sieve")
    return std::make_unique<Sieve>(blocks, pages);
  if (name == "2q")
    return std::make_unique<TwoQ>(blocks, pages);
  if (name == "optimum")
    return std::make_unique<Optimum>(blocks, pages);
  if (name == "s3fifo")
    return std::make_unique<S3Fifo>(blocks, pages, o["small"], uint8_t(o["needed"]), o["ghost"]);
  if (name == "vanilla")
    return std::make_unique<Vanilla>(blocks, pages, o.whole("pct"), o.whole("time"),
                                     o.whole("depth"));
  if (name == "lazy")
    return std::make_unique<Lazy>(blocks, ids, o.whole("pct"), o.whole("time"), o.whole("depth"),
                                  std::max(o.whole("every"), 1U), o.whole("ghosts"));
  die("'" + name + "' is not a policy; bench/replay --help lists them");
}

void replay(const Replay &r, const std::string &name, uint32_t blocks, double warm, double rate)
{
  const auto policy= make(name, blocks, r.ids);
  Policy &p= *policy;
  const size_t begin= size_t(double(r.accesses.size()) * warm);
  uint64_t read= 0, scanned= 0, moves= 0, chances= 0, hits= 0, ghosts= 0;
  size_t transactions= 0, n= 0;
  for (size_t i= 0; i < r.accesses.size(); i++)
  {
    if (i == begin)
    {
      read= scanned= transactions= 0;
      moves= p.moves, chances= p.chances, hits= p.hits, ghosts= p.ghosts;
    }
    const Replay::Access &a= r.accesses[i];
    if (a.page == NONE)
    {
      transactions++;
      continue;
    }
    const uint64_t before= p.misses;
    p.access(a.page, a.created, uint32_t(double(n++) * 1000 / rate), r.next[i]);
    (a.scan ? scanned : read)+= p.misses - before;
  }
  const double t= double(std::max<size_t>(transactions, 1));
  printf("%-28s %8u %10.3f %10.3f %9.3f %9.3f %9.3f %9.3f\n", name.c_str(), blocks,
         double(read) / t, double(scanned) / t, double(p.moves - moves) / t,
         double(p.chances - chances) / t, double(p.hits - hits) / t,
         double(p.ghosts - ghosts) / t);
}
}

int main(int argc, char **argv)
{
  Options o({{"warm", .33}, {"rate", 37000}, {"transactions", 20000}, {"seed", 1},
             {"warehouses", 8}, {"uniform", 0}, {"pages", 40000}, {"skew", .9},
             {"scan_every", 0}, {"scan_pages", 16000}, {"scan_step", 16000}});
  int i= 1;
  for (; i < argc && strchr(argv[i], '='); i++)
    o.set(argv[i]);
  const bool write= i < argc && !strcmp(argv[i], "--write");
  i+= write;
  if (argc - i < (write ? 1 : 2) || (write && argc - i > 1) ||
      (argv[i][0] == '-' && argv[i][1]))
    usage();

  Trace t;
  const std::string from= argv[i++];
  const size_t transactions= size_t(o["transactions"]);
  const Scans scans{o.whole("scan_every"), o.whole("scan_pages"), o.whole("scan_step")};
  if (from == "tpcc")
    Tpcc(t, std::max(o.whole("warehouses"), 1U), o["uniform"] != 0, o.whole("seed"))
      .run(transactions, scans);
  else if (from == "zipf")
    zipf(t, std::max(o.whole("pages"), 1U), o["skew"], transactions, scans, o.whole("seed"));
  else if (from == "loop")
    loop(t, o.whole("pages"), transactions);
  else
  {
    FILE *file= from == "-" ? stdin : fopen(from.c_str(), "rb");
    if (!file || !t.read(file))
      die(from + ": " + strerror(errno));
  }

  if (write)
    return t.write(stdout) ? 0 : (die(std::string("cannot write: ") + strerror(errno)), 1);

  std::vector<uint32_t> sizes;
  for (const std::string &size : split(argv[i++], ','))
  {
    char *end;
    const unsigned long blocks= strtoul(size.c_str(), &end, 10);
    if (*end || blocks < 64 || blocks >= NONE)
      die("'" + size + "' is not a number of blocks; at least 64");
    sizes.push_back(uint32_t(blocks));
  }
  std::vector<std::string> policies(argv + i, argv + argc);
  if (policies.empty())
    policies= {"optimum", "lru", "vanilla", "vanilla:time=0", "clock", "2q", "s3fifo", "sieve",
               "lazy"};

  const Replay r(t);
  printf("%s: %zu accesses to %zu pages, %zu transactions; a transaction:\n", from.c_str(),
         r.accesses.size() - r.transactions, r.ids.size(), r.transactions);
  printf("%-28s %8s %10s %10s %9s %9s %9s %9s\n", "policy", "blocks", "read", "by scans",
         "moved", "2nd", "counted", "ghosts");
  for (const uint32_t blocks : sizes)
    for (const std::string &policy : policies)
      replay(r, policy, blocks, o["warm"], o["rate"]);
  return fflush(stdout) ? 1 : 0;
}
