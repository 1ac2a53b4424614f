-- 40,000 votes: the only rows that users change. A measurement begins with these.
TRUNCATE votes;
INSERT INTO votes
SELECT n % 800, (n / 800 * 19 + n) % 1000 FROM generate_series(0, 39999) AS n
ON CONFLICT DO NOTHING;

VACUUM ANALYZE votes;
