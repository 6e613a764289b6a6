/* Traces of page accesses: reading and writing them, and making some up.

A trace is a sequence of 64-bit words in the byte order of the machine: tablespace << 32 | page
number.  CREATED is added where the page was made and not read, SCAN where the access is not one
of a transaction, but of a scan beside them.  END is the end of a transaction. */
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

using Word= uint64_t;
constexpr Word CREATED= Word{1} << 63, SCAN= Word{1} << 62;
constexpr Word END= ~Word{0};

struct Trace
{
  std::vector<Word> words;

  void access(uint32_t space, uint32_t page) { words.push_back(Word{space} << 32 | page); }
  void create(uint32_t space, uint32_t page)
  { words.push_back(CREATED | Word{space} << 32 | page); }
  void end() { words.push_back(END); }

  bool read(FILE *file)
  {
    Word buffer[4096];
    for (size_t n; (n= fread(buffer, sizeof *buffer, 4096, file)) > 0;)
      words.insert(words.end(), buffer, buffer + n);
    return !ferror(file);
  }
  bool write(FILE *file) const
  {
    return fwrite(words.data(), sizeof words[0], words.size(), file) == words.size() &&
      !fflush(file);
  }
};

/* Numbers of a Zipf distribution over 0..n-1, shuffled so that neighbours are not alike.
Rejection-inversion after Hoermann and Derflinger. */
class Zipf
{
  const uint32_t n;
  const double s, low, high;
  std::vector<uint32_t> place;

  double h(double x) const { return s == 1 ? log(x) : (pow(x, 1 - s) - 1) / (1 - s); }
  double inverse(double y) const { return s == 1 ? exp(y) : pow(1 + y * (1 - s), 1 / (1 - s)); }
public:
  Zipf(uint32_t n, double s, std::mt19937_64 &random) :
    n(n), s(s), low(h(1.5) - 1), high(h(n + .5)), place(n)
  {
    for (uint32_t i= 0; i < n; i++)
      place[i]= i;
    for (uint32_t i= n; i > 1; i--)
      std::swap(place[i - 1], place[random() % i]);
  }
  uint32_t operator()(std::mt19937_64 &random) const
  {
    std::uniform_real_distribution<double> uniform(low, high);
    for (;;)
    {
      const double u= uniform(random), x= inverse(u);
      const uint32_t k= std::min(std::max(uint32_t(x + .5), 1U), n);
      if (u >= h(k + .5) - pow(k, -s))
        return place[k - 1];
    }
  }
};

/* Scans of a whole table beside transactions: one of so many pages begins every so many
transactions, and reads so many pages after each transaction.  Each of 20 rows of a page is an
access. */
struct Scans
{
  uint32_t every= 0, pages= 0, step= 0;
  uint32_t since= 0, page= NO_SCAN;
  static constexpr uint32_t NO_SCAN= ~0U, SPACE= 1000, ROWS= 20;

  void after(Trace &t)
  {
    if (!every)
      return;
    if (++since == every)
      since= page= 0;
    for (uint32_t i= 0; i < step && page < pages; i++, page++)
      for (uint32_t row= 0; row < ROWS; row++)
        t.words.push_back(SCAN | Word{SPACE} << 32 | page);
  }
};

/* Keys of 0..pages-1, one in a page; a transaction is an access to root, branch and leaf. */
inline void zipf(Trace &t, uint32_t pages, double skew, size_t transactions, Scans scans,
                 unsigned seed)
{
  std::mt19937_64 random(seed);
  Zipf keys(pages, skew, random);
  for (size_t i= 0; i < transactions; i++)
  {
    const uint32_t key= keys(random);
    t.access(1, 3);
    t.access(1, 4 + key / 500);
    t.access(1, 10000 + key);
    t.end();
    scans.after(t);
  }
}

/* The same pages again and again, in order; a round is a transaction. */
inline void loop(Trace &t, uint32_t pages, size_t rounds)
{
  for (size_t i= 0; i < rounds; i++, t.end())
    for (uint32_t page= 0; page < pages; page++)
      for (int row= 0; row < 3; row++)
        t.access(1, page);
}

/* The page accesses that the five transactions of TPC-C make, as far as their order matters:
which rows, how many of them in a page, what is read again soon, what is inserted.  It is
not a recording. */
class Tpcc
{
  enum Table : uint32_t { WAREHOUSE= 1, DISTRICT, CUSTOMER, CUSTOMER_NAME, HISTORY, NEW_ORDER,
                          ORDERS, ORDERS_CUSTOMER, ORDER_LINE, ITEM, STOCK, UNDO };
  /* pages of the first level of branches start here; leaves further on */
  static constexpr uint32_t BRANCH= 4, LEAF= 1000, FANOUT= 600;
  static constexpr uint32_t CUSTOMERS= 3000, ITEMS= 100000, LAST= 20;
  struct Order { uint32_t customer, line_page; uint8_t lines; uint32_t items[15]; };
  struct District
  {
    std::vector<Order> orders;
    uint32_t delivered= 0;          /* the first order that is not */
    uint32_t line_page= 0, line_rows= 0, order_page= 0, order_rows= 0, new_page= 0, new_rows= 0;
  };

  Trace &t;
  std::mt19937_64 random;
  const uint32_t warehouses;
  const bool uniform;                   /* not the skewed keys that TPC-C has */
  std::vector<District> districts;
  std::unordered_map<uint32_t, uint32_t> allocated;
  uint32_t history_rows= 0, history_page= 0, undo_page= 0, undo_rows= 0;
  const uint32_t c_customer, c_item, c_name;

  uint32_t below(uint32_t n) { return uint32_t(random() % n); }
  uint32_t nu(uint32_t a, uint32_t c, uint32_t n)
  { return uniform ? below(n) : ((below(a + 1) | below(n)) + c) % n; }

  void leaf(Table table, uint32_t page, int rows= 1)
  {
    while (rows--)
    {
      t.access(table, 3);
      if (table != WAREHOUSE && table != DISTRICT)
        t.access(table, BRANCH + page / FANOUT);
      t.access(table, LEAF + page);
    }
  }
  uint32_t allocate(Table table)
  {
    const uint32_t page= allocated[table]++;
    t.create(table, LEAF + page);
    return page;
  }
  /* an insert at the end of something, into pages that hold so many rows */
  void append(Table table, uint32_t &page, uint32_t &rows, uint32_t capacity)
  {
    if (!rows++)
      page= allocate(table);
    leaf(table, page);
    rows%= capacity;
  }
  void undo()
  {
    if (!undo_rows++)
      t.create(UNDO, undo_page++ % 4000);
    t.access(UNDO, (undo_page - 1) % 4000);
    undo_rows%= 100;
  }
  void customer(uint32_t w, uint32_t d, uint32_t c)
  { leaf(CUSTOMER, ((w * 10 + d) * CUSTOMERS + c) / 25); }
  uint32_t some_customer(uint32_t w, uint32_t d)
  {
    if (below(100) >= 60)
      return nu(1023, c_customer, CUSTOMERS);
    /* three of a name: read all, take the middle one */
    const uint32_t name= nu(255, c_name, 1000);
    leaf(CUSTOMER_NAME, ((w * 10 + d) * CUSTOMERS + name * 3) / 300);
    customer(w, d, (name * 7) % CUSTOMERS);
    customer(w, d, (name * 7 + 1000) % CUSTOMERS);
    customer(w, d, (name * 7 + 2000) % CUSTOMERS);
    return (name * 7 + 1000) % CUSTOMERS;
  }
  void stock(uint32_t w, uint32_t item, int accesses)
  { leaf(STOCK, (w * ITEMS + item) / 45, accesses); }

  void add_order(District &d, uint32_t w, bool load)
  {
    Order o;
    o.customer= load ? below(CUSTOMERS) : nu(1023, c_customer, CUSTOMERS);
    o.lines= uint8_t(5 + below(11));
    if (!load)
    {
      leaf(WAREHOUSE, 0);
      leaf(DISTRICT, w / 8, 2);
      customer(w, uint32_t(&d - &districts[w * 10]), o.customer);
      append(NEW_ORDER, d.new_page, d.new_rows, 400);
      leaf(ORDERS_CUSTOMER, (w * 10 + uint32_t(&d - &districts[w * 10])) * 8 + o.customer / 400);
      undo();
    }
    append(ORDERS, d.order_page, d.order_rows, 300);
    for (uint8_t i= 0; i < o.lines; i++)
    {
      o.items[i]= nu(8191, c_item, ITEMS);
      if (!load)
      {
        const uint32_t from= warehouses > 1 && !below(100) ? below(warehouses) : w;
        leaf(ITEM, o.items[i] / 180);
        stock(from, o.items[i], 2);
        undo();
      }
      append(ORDER_LINE, d.line_page, d.line_rows, 180);
    }
    o.line_page= d.line_page;
    d.orders.push_back(o);
  }
  void new_order(uint32_t w) { add_order(districts[w * 10 + below(10)], w, false); }
  void payment(uint32_t w)
  {
    const uint32_t d= below(10);
    leaf(WAREHOUSE, 0, 2);
    leaf(DISTRICT, w / 8, 2);
    const uint32_t cw= warehouses > 1 && below(100) < 15 ? below(warehouses) : w;
    const uint32_t cd= cw == w ? d : below(10), c= some_customer(cw, cd);
    customer(cw, cd, c);
    customer(cw, cd, c);
    append(HISTORY, history_page, history_rows, 200);
    undo();
  }
  void order_status(uint32_t w)
  {
    const uint32_t d= below(10), c= some_customer(w, d);
    leaf(ORDERS_CUSTOMER, (w * 10 + d) * 8 + c / 400);
    const District &district= districts[w * 10 + d];
    for (size_t i= district.orders.size(); i--;)
      if (district.orders[i].customer == c)
      {
        leaf(ORDER_LINE, district.orders[i].line_page);
        break;
      }
  }
  void delivery(uint32_t w)
  {
    for (uint32_t i= 0; i < 10; i++)
    {
      District &d= districts[w * 10 + i];
      if (d.delivered == d.orders.size())
        continue;
      const Order &o= d.orders[d.delivered++];
      leaf(NEW_ORDER, d.new_page, 2);
      leaf(ORDERS, d.order_page, 2);
      leaf(ORDER_LINE, o.line_page, 2);
      customer(w, i, o.customer);
      undo();
    }
  }
  void stock_level(uint32_t w)
  {
    const District &d= districts[w * 10 + below(10)];
    leaf(DISTRICT, w / 8);
    for (size_t i= d.orders.size() > LAST ? d.orders.size() - LAST : 0; i < d.orders.size(); i++)
    {
      leaf(ORDER_LINE, d.orders[i].line_page);
      for (uint8_t j= 0; j < d.orders[i].lines; j++)
        stock(w, d.orders[i].items[j], 1);
    }
  }
public:
  Tpcc(Trace &t, uint32_t warehouses, bool uniform, unsigned seed) :
    t(t), random(seed), warehouses(warehouses), uniform(uniform), districts(warehouses * 10),
    c_customer(below(1024)), c_item(below(8192)), c_name(below(256)) {}

  void run(size_t transactions, Scans scans)
  {
    for (uint32_t i= 0; i < warehouses * 10; i++)
      for (uint32_t order= 0; order < CUSTOMERS; order++)
      {
        add_order(districts[i], i / 10, true);
        if (order < 2100)
          districts[i].delivered++;
      }
    t.words.clear();            /* what is loaded is on disk, and not in the pool */
    for (size_t i= 0; i < transactions; i++)
    {
      const uint32_t w= below(warehouses), kind= below(100);
      if (kind < 45)
        new_order(w);
      else if (kind < 88)
        payment(w);
      else if (kind < 92)
        order_status(w);
      else if (kind < 96)
        delivery(w);
      else
        stock_level(w);
      t.end();
      scans.after(t);
    }
  }
};
