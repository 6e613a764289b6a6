-- Each thread runs many transactions, each of a single UPDATE, on a table of its own.
-- The table is persistent, or temporary with --temporary=on.  With --updated=100 each
-- transaction changes 100 rows, with a column that takes some room in the undo log.

if sysbench.cmdline.command == nil then
   error("a command is needed: prepare or run")
end

sysbench.cmdline.options = {
   rows = {"Rows of each table", 1000},
   temporary = {"Temporary tables", false},
   updated = {"Rows that each transaction changes", 1}
}

local con, name

local function create(kind, table_name)
   con:query(string.format("CREATE %s TABLE %s (id INT NOT NULL PRIMARY KEY, n INT NOT NULL,"
                           .. " c CHAR(100) NOT NULL) ENGINE=InnoDB", kind, table_name))
   con:bulk_insert_init("INSERT INTO " .. table_name .. " VALUES")
   for i = 1, sysbench.opt.rows do
      con:bulk_insert_next(string.format("(%d,0,'%s')", i, sysbench.rand.string(("@"):rep(100))))
   end
   con:bulk_insert_done()
end

function prepare()
   con = sysbench.sql.driver():connect()
   for i = 0, sysbench.opt.threads - 1 do
      create("", "undo" .. i)
   end
end

function thread_init()
   con = sysbench.sql.driver():connect()
   name = "undo" .. sysbench.tid
   if sysbench.opt.temporary then
      name = "temporary" .. sysbench.tid
      create("TEMPORARY", name)
   end
end

function event()
   if sysbench.opt.updated == 1 then
      con:query(string.format("UPDATE %s SET n = n + 1 WHERE id = %d", name,
                              sysbench.rand.uniform(1, sysbench.opt.rows)))
   else
      local first = sysbench.rand.uniform(
         1, math.max(1, sysbench.opt.rows - sysbench.opt.updated + 1))
      con:query(string.format("UPDATE %s SET n = n + 1, c = CONCAT(n, REPEAT('@', 90))"
                              .. " WHERE id BETWEEN %d AND %d",
                              name, first, first + sysbench.opt.updated - 1))
   end
end

function thread_done()
   con:disconnect()
end
