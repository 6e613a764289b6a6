-- These statements are of kinds that no profile is trained on (docs/design/profile.md).  A
-- run has one kind: --kind=subselects, windows, json, fulltext, spatial or views.
--
--   prepare   makes one table for all kinds, of --rows rows
--   run       runs one statement of the kind in each event, at random places in the table

if sysbench.cmdline.command == nil then
   error("a command is needed: prepare or run")
end

sysbench.cmdline.options = {
   rows = {"Rows of the table", 20000},
   kind = {"Kind of statements", "subselects"}
}

local uniform = sysbench.rand.uniform
local con, statements

local WORDS = {"river", "stone", "wheel", "grain", "water", "miller", "flour", "bridge", "valley",
               "storm", "harvest", "barrel", "wagon", "copper", "lantern", "orchard", "meadow",
               "anchor", "timber", "candle"}

-- The sign @ stands for a place in the table.  Runs with the same seed have the same rows there.
local KINDS = {
   subselects = {
      "SELECT COUNT(*) FROM unseen a WHERE a.id BETWEEN @ AND @ + 200"
         .. " AND EXISTS (SELECT 1 FROM unseen b WHERE b.part = a.part AND b.number > a.number)",
      "SELECT a.id, (SELECT MAX(b.number) FROM unseen b WHERE b.part = a.part)"
         .. " FROM unseen a WHERE a.id BETWEEN @ AND @ + 20",
      "SELECT COUNT(*) FROM unseen WHERE part IN"
         .. " (SELECT part FROM unseen WHERE id BETWEEN @ AND @ + 30 AND number % 3 = 0)",
      "SELECT COUNT(*) FROM unseen WHERE id BETWEEN @ AND @ + 500 AND number NOT IN"
         .. " (SELECT number FROM unseen WHERE id BETWEEN @ + 100 AND @ + 300)"
   },
   windows = {
      "SELECT id, ROW_NUMBER() OVER (PARTITION BY part ORDER BY number),"
         .. " SUM(number) OVER (PARTITION BY part ORDER BY id)"
         .. " FROM unseen WHERE id BETWEEN @ AND @ + 500",
      "SELECT id, RANK() OVER (ORDER BY number DESC), LAG(number, 2) OVER (ORDER BY id)"
         .. " FROM unseen WHERE id BETWEEN @ AND @ + 500",
      "SELECT id, AVG(number) OVER (ORDER BY id ROWS BETWEEN 10 PRECEDING AND 10 FOLLOWING),"
         .. " NTILE(7) OVER (ORDER BY number) FROM unseen WHERE id BETWEEN @ AND @ + 300"
   },
   json = {
      "SELECT JSON_VALUE(document, '$.name'), JSON_EXTRACT(document, '$.places[1]')"
         .. " FROM unseen WHERE id BETWEEN @ AND @ + 100",
      "SELECT COUNT(*) FROM unseen WHERE id BETWEEN @ AND @ + 200"
         .. " AND JSON_CONTAINS(document, '3', '$.places')",
      "SELECT JSON_ARRAYAGG(JSON_OBJECT('id', id, 'name', JSON_VALUE(document, '$.name')))"
         .. " FROM unseen WHERE id BETWEEN @ AND @ + 50",
      "UPDATE unseen SET document = JSON_SET(document, '$.seen', number, '$.places[0]', part)"
         .. " WHERE id = @",
      "SELECT SUM(t.one) FROM unseen,"
         .. " JSON_TABLE(document, '$.places[*]' COLUMNS (one INT PATH '$')) t"
         .. " WHERE id BETWEEN @ AND @ + 50"
   },
   fulltext = {
      "SELECT id FROM unseen WHERE MATCH (words) AGAINST ('? ?') LIMIT 20",
      "SELECT COUNT(*) FROM unseen WHERE MATCH (words) AGAINST ('+? +? -?' IN BOOLEAN MODE)",
      "SELECT id, MATCH (words) AGAINST ('?') AS score FROM unseen"
         .. " WHERE MATCH (words) AGAINST ('?*' IN BOOLEAN MODE) ORDER BY score DESC LIMIT 10"
   },
   spatial = {
      "SELECT COUNT(*) FROM unseen WHERE"
         .. " MBRContains(ST_GeomFromText('POLYGON((# #,# &,& &,& #,# #))'), place)",
      "SELECT COUNT(*) FROM unseen WHERE ST_Within(place, ST_Buffer(POINT(#, &), 20))"
         .. " AND MBRIntersects(place, ST_Buffer(POINT(#, &), 20))",
      "SELECT id, ST_Distance(place, POINT(#, &)) AS d FROM unseen"
         .. " WHERE id BETWEEN @ AND @ + 200 ORDER BY d LIMIT 5",
      "SELECT ST_AsText(place), ST_X(place) FROM unseen WHERE id BETWEEN @ AND @ + 50"
   },
   views = {
      "SELECT * FROM unseen_pairs WHERE id BETWEEN @ AND @ + 50",
      "SELECT * FROM unseen_parts WHERE part BETWEEN @ % 100 AND @ % 100 + 3",
      "SELECT p.total, u.words FROM unseen_parts p JOIN unseen_pairs u ON u.part = p.part"
         .. " WHERE u.id = @",
      "WITH RECURSIVE chain AS (SELECT id, number, 1 AS depth FROM unseen WHERE id = @"
         .. " UNION ALL SELECT u.id, u.number, c.depth + 1 FROM chain c JOIN unseen u"
         .. " ON u.id = c.number WHERE c.depth < 20) SELECT COUNT(*), MAX(number) FROM chain"
   }
}

function prepare()
   con = sysbench.sql.driver():connect()
   con:query([[CREATE TABLE unseen (id INT NOT NULL PRIMARY KEY, part INT NOT NULL,]]
             .. [[ number INT NOT NULL, document JSON NOT NULL,
      words TEXT NOT NULL, place POINT NOT NULL, KEY (part), KEY (number),]]
             .. [[ FULLTEXT KEY (words), SPATIAL KEY (place)) ENGINE=InnoDB]])
   con:bulk_insert_init("INSERT INTO unseen VALUES")
   for id = 1, sysbench.opt.rows do
      local words = {}
      for i = 1, 12 do
         words[i] = WORDS[uniform(1, #WORDS)]
      end
      con:bulk_insert_next(string.format(
         "(%d,%d,%d,'{\"name\": \"%s\", \"places\": [%d, %d, %d],"
         .. " \"more\": {\"text\": \"%s\"}}','%s',POINT(%d,%d))",
         id, uniform(1, sysbench.opt.rows / 100), uniform(1, sysbench.opt.rows),
         words[1], uniform(1, 9), uniform(1, 9), uniform(1, 9),
         table.concat(words, "-", 1, 6), table.concat(words, " "),
         uniform(0, 1000), uniform(0, 1000)))
   end
   con:bulk_insert_done()
   con:query("CREATE VIEW unseen_pairs AS SELECT a.id, a.part, a.words, b.number"
             .. " FROM unseen a JOIN unseen b ON b.id = a.number")
   con:query("CREATE VIEW unseen_parts AS SELECT part, COUNT(*) AS many, SUM(number) AS total"
             .. " FROM unseen GROUP BY part")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   statements = assert(KINDS[sysbench.opt.kind], "no kind " .. sysbench.opt.kind)
end

function event()
   local place, low = uniform(1, sysbench.opt.rows), uniform(0, 900)
   local text = statements[uniform(1, #statements)]
      :gsub("@", place):gsub("#", low):gsub("&", low + uniform(10, 60))
   con:query((text:gsub("%?", function() return WORDS[uniform(1, #WORDS)] end)))
end

function thread_done()
   con:disconnect()
end
