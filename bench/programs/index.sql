CREATE TABLE entry (id INTEGER PRIMARY KEY, name TEXT, size INTEGER);
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 1000000)
  INSERT INTO entry SELECT i, 'name ' || (i * 7919 % 1000003), i * 104729 % 65537 FROM number;
CREATE INDEX by_name ON entry (name);
CREATE INDEX by_size ON entry (size, name);
SELECT count(*) FROM entry WHERE name > 'name 5';
