-- Each transaction is one INSERT of --batch rows at the end of the key of `sales`, whose three
-- secondary indexes have random values.

if sysbench.cmdline.command == nil then
   error("a command is needed: prepare or run")
end

sysbench.cmdline.options = {
   rows = {"Rows of the table at the start", 100000},
   batch = {"Rows of each INSERT", 100}
}

local con

local function row()
   local random = sysbench.rand.uniform
   return string.format("(NOW(),%d,%d,%d,%d,'%s')", random(1, 1000), random(1, 100000),
                        random(1, 10000), random(1, 50000), sysbench.rand.string("@@@@@@@@@@"))
end

local INSERT = "INSERT INTO sales (sold, till, customer, product, cents, note) VALUES "

function prepare()
   con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE sales (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,"
             .. " sold DATETIME NOT NULL, till INT NOT NULL, customer INT NOT NULL,"
             .. " product INT NOT NULL, cents INT NOT NULL, note CHAR(10) NOT NULL,"
             .. " KEY by_price (cents, customer), KEY by_till (till, cents, customer),"
             .. " KEY by_product (product, sold, customer)) ENGINE=InnoDB")
   con:bulk_insert_init(INSERT)
   for _ = 1, sysbench.opt.rows do
      con:bulk_insert_next(row())
   end
   con:bulk_insert_done()
end

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   local rows = {}
   for i = 1, sysbench.opt.batch do
      rows[i] = row()
   end
   con:query(INSERT .. table.concat(rows, ","))
end

function thread_done()
   con:disconnect()
end
