-- This file has the five transactions of TPC-C on its nine tables, for sysbench, after the
-- specification (revision 5.11).
--
--   prepare   makes and fills the tables; --threads of them share the warehouses
--   run       runs the mix of clause 5.2.3, dealt from a deck (5.2.4.2)
--
-- It measures a server, and is no TPC-C result: terminals neither key nor think,
-- each runs its transactions one after the other, and no foreign keys are declared.
-- The suite checks the consistency conditions from outside.

if sysbench.cmdline.command == nil then
   error("a command is needed: prepare or run")
end

sysbench.cmdline.options = {
   warehouses = {"Number of warehouses", 1},
   items = {"Number of items; the specification has 100000", 100000},
   customers = {"Customers, and first orders, of a district; the specification has 3000", 3000}
}

local DISTRICTS = 10
local uniform = sysbench.rand.uniform

-- The function is that of clause 2.1.6, and the constants satisfy clause 2.1.6.1.
local C = {load_last = 157, run_last = 223, customer = 259, item = 7911}
local function nurand(a, c, low, high)
   return (bit.bor(uniform(0, a), uniform(low, high)) + c) % (high - low + 1) + low
end

local SYLLABLES = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}
local function last_name(number)
   return SYLLABLES[math.floor(number / 100) % 10 + 1]
      .. SYLLABLES[math.floor(number / 10) % 10 + 1]
      .. SYLLABLES[number % 10 + 1]
end

local LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
local pool
-- The text returned has low to high characters, and is a piece of one long random text.
local function text(low, high)
   if not pool then
      local letters = {}
      for i = 1, 100000 do
         local k = uniform(1, #LETTERS)
         letters[i] = LETTERS:sub(k, k)
      end
      pool = table.concat(letters)
   end
   local length = uniform(low, high)
   local start = uniform(1, #pool - length)
   return pool:sub(start, start + length - 1)
end

-- One text in ten has the word ORIGINAL in it (clause 4.3.3.1).
local function data_text()
   local value = text(26, 50)
   if uniform(1, 10) > 1 then
      return value
   end
   local place = uniform(1, #value - 8)
   return value:sub(1, place - 1) .. "ORIGINAL" .. value:sub(place + 8)
end

local function money(low, high)
   return string.format("%.2f", uniform(low * 100, high * 100) / 100)
end

local function digits(count)
   local value = {}
   for i = 1, count do
      value[i] = uniform(0, 9)
   end
   return table.concat(value)
end

local function address()
   return string.format("'%s','%s','%s','%s','%s11111'", text(10, 20), text(10, 20),
                        text(10, 20), text(2, 2):upper(), digits(4))
end

local TABLES = {
   [[warehouse (w_id INT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20),]]
      .. [[ w_street_2 VARCHAR(20),
      w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4),]]
      .. [[ w_ytd DECIMAL(12,2), PRIMARY KEY (w_id))]],
   [[district (d_w_id INT NOT NULL, d_id TINYINT NOT NULL, d_name VARCHAR(10),]]
      .. [[ d_street_1 VARCHAR(20),
      d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9),]]
      .. [[ d_tax DECIMAL(4,4),
      d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id))]],
   [[customer (c_w_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_id INT NOT NULL,]]
      .. [[ c_first VARCHAR(16), c_middle CHAR(2),
      c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20),]]
      .. [[ c_state CHAR(2),
      c_zip CHAR(9), c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2),]]
      .. [[ c_credit_lim DECIMAL(12,2),
      c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2),]]
      .. [[ c_payment_cnt SMALLINT,
      c_delivery_cnt SMALLINT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id),
      KEY by_name (c_w_id, c_d_id, c_last, c_first))]],
   [[history (h_c_id INT, h_c_d_id TINYINT, h_c_w_id INT, h_d_id TINYINT, h_w_id INT,]]
      .. [[ h_date DATETIME,
      h_amount DECIMAL(6,2), h_data VARCHAR(24))]],
   [[new_order (no_w_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_o_id INT NOT NULL,
      PRIMARY KEY (no_w_id, no_d_id, no_o_id))]],
   [[orders (o_w_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_id INT NOT NULL, o_c_id INT,]]
      .. [[ o_entry_d DATETIME,
      o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT,]]
      .. [[ PRIMARY KEY (o_w_id, o_d_id, o_id),
      KEY by_customer (o_w_id, o_d_id, o_c_id, o_id))]],
   [[order_line (ol_w_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_o_id INT NOT NULL,]]
      .. [[ ol_number TINYINT NOT NULL,
      ol_i_id INT, ol_supply_w_id INT, ol_delivery_d DATETIME, ol_quantity TINYINT,]]
      .. [[ ol_amount DECIMAL(6,2),
      ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))]],
   [[item (i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2),]]
      .. [[ i_data VARCHAR(50),
      PRIMARY KEY (i_id))]],
   [[stock (s_w_id INT NOT NULL, s_i_id INT NOT NULL, s_quantity SMALLINT,]]
      .. [[ s_dist_01 CHAR(24), s_dist_02 CHAR(24),
      s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24),]]
      .. [[ s_dist_07 CHAR(24),
      s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd INT, s_order_cnt SMALLINT,
      s_remote_cnt SMALLINT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id))]]
}

-- The function loads the rows that make() returns for the numbers first to last into a table.
local function rows(con, into, first, last, make)
   con:bulk_insert_init("INSERT INTO " .. into .. " VALUES")
   for i = first, last do
      con:bulk_insert_next("(" .. make(i) .. ")")
   end
   con:bulk_insert_done()
end

local function load_items(con)
   rows(con, "item", 1, sysbench.opt.items, function(i)
      return string.format("%d,%d,'%s',%s,'%s'", i, uniform(1, 10000), text(14, 24),
                           money(1, 100), data_text())
   end)
end

local function load_district(con, w, d)
   local customers = sysbench.opt.customers
   rows(con, "customer", 1, customers, function(c)
      local name = c <= 1000 and c - 1 or nurand(255, C.load_last, 0, 999)
      return string.format("%d,%d,%d,'%s','OE','%s',%s,'%s',NOW(),'%s',50000,0.%04d,"
                           .. "-10,10,1,0,'%s'", w, d, c,
                           text(8, 16), last_name(name), address(), digits(16),
                           uniform(1, 10) == 1 and "BC" or "GC",
                           uniform(0, 5000), text(300, 500))
   end)
   rows(con, "history", 1, customers, function(c)
      return string.format("%d,%d,%d,%d,%d,NOW(),10,'%s'", c, d, w, d, w, text(12, 24))
   end)
   -- The buyers are a permutation of the customers.
   local buyer = {}
   for i = 1, customers do
      buyer[i] = i
   end
   for i = customers, 2, -1 do
      local k = uniform(1, i)
      buyer[i], buyer[k] = buyer[k], buyer[i]
   end
   local undelivered = math.floor(customers * 0.7) + 1
   local lines = {}
   rows(con, "orders", 1, customers, function(o)
      lines[o] = uniform(5, 15)
      return string.format("%d,%d,%d,%d,NOW(),%s,%d,1", w, d, o, buyer[o],
                           o < undelivered and uniform(1, 10) or "NULL", lines[o])
   end)
   con:bulk_insert_init("INSERT INTO order_line VALUES")
   for o = 1, customers do
      for line = 1, lines[o] do
         con:bulk_insert_next(string.format("(%d,%d,%d,%d,%d,%d,%s,5,%s,'%s')", w, d, o, line,
                                            uniform(1, sysbench.opt.items), w,
                                            o < undelivered and "NOW()" or "NULL",
                                            o < undelivered and "0" or money(0.01, 9999.99),
                                            text(24, 24)))
      end
   end
   con:bulk_insert_done()
   rows(con, "new_order", undelivered, customers, function(o)
      return string.format("%d,%d,%d", w, d, o)
   end)
end

local function load_warehouse(con, w)
   rows(con, "warehouse", w, w, function()
      return string.format("%d,'%s',%s,0.%04d,%d", w, text(6, 10), address(),
                           uniform(0, 2000), 30000 * DISTRICTS)
   end)
   rows(con, "district", 1, DISTRICTS, function(d)
      return string.format("%d,%d,'%s',%s,0.%04d,30000,%d", w, d, text(6, 10), address(),
                           uniform(0, 2000), sysbench.opt.customers + 1)
   end)
   rows(con, "stock", 1, sysbench.opt.items, function(i)
      local info = {}
      for d = 1, DISTRICTS do
         info[d] = "'" .. text(24, 24) .. "'"
      end
      return string.format("%d,%d,%d,%s,0,0,0,'%s'", w, i, uniform(10, 100),
                           table.concat(info, ","), data_text())
   end)
   for d = 1, DISTRICTS do
      load_district(con, w, d)
   end
end

local function connect()
   local con = sysbench.sql.driver():connect()
   con:query("SET SESSION unique_checks = 0")
   return con
end

local function create()
   local con = connect()
   for _, definition in ipairs(TABLES) do
      con:query("CREATE TABLE " .. definition .. " ENGINE=InnoDB CHARACTER SET latin1")
   end
   load_items(con)
end

local function fill()
   local con = connect()
   for w = sysbench.tid % sysbench.opt.threads + 1,
           sysbench.opt.warehouses, sysbench.opt.threads do
      load_warehouse(con, w)
   end
end

sysbench.cmdline.commands = {
   create = {create},
   fill = {fill, sysbench.cmdline.PARALLEL_COMMAND}
}

local con, home, card
local deck, dealt = {}, 0

local function query(format, ...)
   return con:query(string.format(format, ...))
end

local function row(format, ...)
   return con:query_row(string.format(format, ...))
end

local function customer()
   return nurand(1023, C.customer, 1, sysbench.opt.customers)
end

-- The function returns another warehouse than our own, where there is one.
local function elsewhere()
   if sysbench.opt.warehouses == 1 then
      return home
   end
   local w = uniform(1, sysbench.opt.warehouses - 1)
   return w < home and w or w + 1
end

-- Clause 2.5.2.2 has 60 % of the customers chosen by last name.  Of those with the name, the
-- middle one in the order of first names is chosen.
local function choose_customer(w, d)
   if uniform(1, 100) > 60 then
      return customer()
   end
   local name = last_name(nurand(255, C.run_last, 0, math.min(999, sysbench.opt.customers - 1)))
   local found = query("SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d"
                       .. " AND c_last = '%s' ORDER BY c_first", w, d, name)
   local id
   for _ = 1, math.ceil(found.nrows / 2) do
      id = tonumber(found:fetch_row()[1])
   end
   return id
end

local function new_order()
   local d, c, count = uniform(1, DISTRICTS), customer(), uniform(5, 15)
   local unused = uniform(1, 100) == 1
   local lines, all_local = {}, 1
   for i = 1, count do
      local supply = home
      if uniform(1, 100) == 1 and sysbench.opt.warehouses > 1 then
         supply, all_local = elsewhere(), 0
      end
      lines[i] = {item = nurand(8191, C.item, 1, sysbench.opt.items), supply = supply,
                  quantity = uniform(1, 10)}
   end
   if unused then
      lines[count].item = sysbench.opt.items + 1
   end
   -- All orders lock items in the same order, so that no two wait for each other.
   table.sort(lines, function(a, b)
      return a.item < b.item or a.item == b.item and a.supply < b.supply
   end)

   con:query("BEGIN")
   row("SELECT w_tax FROM warehouse WHERE w_id = %d", home)
   row("SELECT c_discount, c_last, c_credit FROM customer"
       .. " WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", home, d, c)
   local o = tonumber((row("SELECT d_next_o_id, d_tax FROM district"
                           .. " WHERE d_w_id = %d AND d_id = %d FOR UPDATE", home, d)))
   query("UPDATE district SET d_next_o_id = %d WHERE d_w_id = %d AND d_id = %d", o + 1, home, d)
   query("INSERT INTO orders VALUES (%d,%d,%d,%d,NOW(),NULL,%d,%d)",
         home, d, o, c, count, all_local)
   query("INSERT INTO new_order VALUES (%d,%d,%d)", home, d, o)
   for number, line in ipairs(lines) do
      local price = row("SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", line.item)
      if price == nil then
         -- One order in a hundred names an item that is not there (clause 2.4.1.4).
         con:query("ROLLBACK")
         return
      end
      local quantity, info = row("SELECT s_quantity, s_dist_%02d, s_data FROM stock"
                                 .. " WHERE s_w_id = %d AND s_i_id = %d FOR UPDATE",
                                 d, line.supply, line.item)
      quantity = tonumber(quantity) - line.quantity
      if quantity < 10 then
         quantity = quantity + 91
      end
      query("UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d,"
            .. " s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %d"
            .. " WHERE s_w_id = %d AND s_i_id = %d",
            quantity, line.quantity, line.supply == home and 0 or 1, line.supply, line.item)
      query("INSERT INTO order_line VALUES (%d,%d,%d,%d,%d,%d,NULL,%d,%.2f,'%s')",
            home, d, o, number, line.item, line.supply, line.quantity,
            line.quantity * tonumber(price), info)
   end
   con:query("COMMIT")
end

local function payment()
   local d, amount = uniform(1, DISTRICTS), money(1, 5000)
   local c_w, c_d = home, d
   if uniform(1, 100) > 85 then
      c_w, c_d = elsewhere(), uniform(1, DISTRICTS)
   end
   con:query("BEGIN")
   query("UPDATE warehouse SET w_ytd = w_ytd + %s WHERE w_id = %d", amount, home)
   local w_name = row("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip"
                      .. " FROM warehouse WHERE w_id = %d", home)
   query("UPDATE district SET d_ytd = d_ytd + %s WHERE d_w_id = %d AND d_id = %d", amount, home, d)
   local d_name = row("SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip"
                      .. " FROM district WHERE d_w_id = %d AND d_id = %d", home, d)
   local c = choose_customer(c_w, c_d)
   if c then
      local credit = row("SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_city,"
                         .. " c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount,"
                         .. " c_balance FROM customer"
                         .. " WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE",
                         c_w, c_d, c)
      local data = ""
      if credit == "BC" then
         data = string.format(", c_data = LEFT(CONCAT('%d %d %d %d %d %s|', c_data), 500)",
                              c, c_d, c_w, d, home, amount)
      end
      query("UPDATE customer SET c_balance = c_balance - %s,"
            .. " c_ytd_payment = c_ytd_payment + %s, c_payment_cnt = c_payment_cnt + 1%s"
            .. " WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
            amount, amount, data, c_w, c_d, c)
   end
   query("INSERT INTO history VALUES (%s,%d,%d,%d,%d,NOW(),%s,'%s    %s')",
         c or "NULL", c_d, c_w, d, home, amount, w_name, d_name)
   con:query("COMMIT")
end

local function order_status()
   local d = uniform(1, DISTRICTS)
   con:query("BEGIN")
   local c = choose_customer(home, d)
   if c then
      row("SELECT c_balance, c_first, c_middle, c_last FROM customer"
          .. " WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", home, d, c)
      local o = row("SELECT o_id, o_entry_d, o_carrier_id FROM orders"
                    .. " WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d"
                    .. " ORDER BY o_id DESC LIMIT 1", home, d, c)
      if o then
         query("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d"
               .. " FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %s",
               home, d, o)
      end
   end
   con:query("COMMIT")
end

local function delivery()
   local carrier = uniform(1, 10)
   con:query("BEGIN")
   for d = 1, DISTRICTS do
      local o = row("SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d"
                    .. " ORDER BY no_o_id LIMIT 1 FOR UPDATE", home, d)
      if o then
         query("DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %s",
               home, d, o)
         -- The order is locked, as it may be younger than this transaction's read view.
         local c = row("SELECT o_c_id FROM orders"
                       .. " WHERE o_w_id = %d AND o_d_id = %d AND o_id = %s FOR UPDATE",
                       home, d, o)
         query("UPDATE orders SET o_carrier_id = %d"
               .. " WHERE o_w_id = %d AND o_d_id = %d AND o_id = %s", carrier, home, d, o)
         query("UPDATE order_line SET ol_delivery_d = NOW()"
               .. " WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %s", home, d, o)
         local total = row("SELECT SUM(ol_amount) FROM order_line"
                           .. " WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %s", home, d, o)
         query("UPDATE customer SET c_balance = c_balance + %s,"
               .. " c_delivery_cnt = c_delivery_cnt + 1"
               .. " WHERE c_w_id = %d AND c_d_id = %d AND c_id = %s",
               total, home, d, c)
      end
   end
   con:query("COMMIT")
end

local function stock_level()
   local d = sysbench.tid % DISTRICTS + 1
   con:query("BEGIN")
   local o = tonumber((row("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d",
                           home, d)))
   row("SELECT COUNT(DISTINCT s_i_id) FROM order_line"
       .. " JOIN stock ON s_w_id = %d AND s_i_id = ol_i_id"
       .. " WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id >= %d AND ol_o_id < %d"
       .. " AND s_quantity < %d",
       home, home, d, o - 20, o, uniform(10, 20))
   con:query("COMMIT")
end

-- The deck of clause 5.2.4.2 has 23 cards, which are dealt without return.
local CARDS = {{new_order, 10}, {payment, 10}, {order_status, 1}, {delivery, 1}, {stock_level, 1}}

local function deal()
   if dealt == #deck then
      deck, dealt = {}, 0
      for _, kind in ipairs(CARDS) do
         for _ = 1, kind[2] do
            table.insert(deck, uniform(1, #deck + 1), kind[1])
         end
      end
   end
   dealt = dealt + 1
   return deck[dealt]
end

function thread_init()
   con = sysbench.sql.driver():connect()
   home = sysbench.tid % sysbench.opt.warehouses + 1
end

function event()
   card = card or deal()
   card()
   card = nil
end

-- A deadlock has rolled the transaction back; a lock wait that took too long has not.
function sysbench.hooks.before_restart_event()
   con:query("ROLLBACK")
end

function thread_done()
   con:disconnect()
end
