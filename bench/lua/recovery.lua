-- The survival of these transactions can be checked.  Each adds 1 to `k` of ten rows of
-- sbtest1 and writes its number into the ledger.  Each thread notes in a file of its own,
-- outside of the server, which transactions the server has confirmed.

if sysbench.cmdline.command == nil then
   error("a command is needed: run")
end

sysbench.cmdline.options = {
   table_size = {"Rows of sbtest1", 100000},
   notes = {"Directory for the numbers of confirmed transactions", "."}
}

local con, notes
local number = 0

function prepare()
   con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE ledger (thread INT NOT NULL, number INT NOT NULL,"
             .. " PRIMARY KEY (thread, number)) ENGINE=InnoDB")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   notes = assert(io.open(sysbench.opt.notes .. "/" .. sysbench.tid, "w"))
end

function event()
   local rows = {}
   for i = 1, 10 do
      rows[i] = sysbench.rand.uniform(1, sysbench.opt.table_size)
   end
   -- All threads lock rows in the same order, so there are no deadlocks.
   table.sort(rows)
   con:query("BEGIN")
   for _, id in ipairs(rows) do
      con:query(string.format("UPDATE sbtest1 SET k = k + 1 WHERE id = %d", id))
   end
   con:query(string.format("INSERT INTO ledger VALUES (%d, %d)", sysbench.tid, number + 1))
   con:query("COMMIT")
   number = number + 1
   notes:seek("set")
   notes:write(number)
   notes:flush()
end

function thread_done()
   con:disconnect()
end
