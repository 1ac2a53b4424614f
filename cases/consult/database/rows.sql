-- 40 projects, 800 ideas, 16,000 comments of 1,000 members; the same in every run, nothing is drawn. reset.sql has the votes.
-- Everybody's password is `town hall`.
INSERT INTO members
SELECT n, 'member-' || lpad(n::text, 3, '0'), 'salt-' || n, encode(sha256(convert_to('salt-' || n || 'town hall', 'UTF8')), 'hex'),
       timestamp '2020-03-01'
FROM generate_series(0, 999) AS n;

INSERT INTO projects
SELECT n, 'What shall become of place ' || n || '?', repeat('The city asks what its citizens think of this place. ', 12),
       date '2020-06-01' + n
FROM generate_series(0, 39) AS n;

INSERT INTO ideas
SELECT n, n % 40, n * 37 % 1000, 'Idea ' || n || ': trees instead of parked cars',
       repeat('It would be cooler in summer, and children could walk to school alone. ', 5),
       timestamp '2020-01-01' + n * interval '2 hours'
FROM generate_series(0, 799) AS n;

INSERT INTO comments
SELECT n, n * 7 % 800, n * 13 % 1000, 'I live there, and this is opinion number ' || n || '; somebody should look at the drains first.',
       timestamp '2020-01-01' + n * interval '6 minutes'
FROM generate_series(0, 15999) AS n;

CREATE INDEX ideas_project ON ideas (project_id);
CREATE INDEX ideas_member ON ideas (member_id);
CREATE INDEX comments_idea ON comments (idea_id, created_at);
CREATE INDEX comments_created ON comments (created_at);
CREATE INDEX votes_member ON votes (member_id);

VACUUM ANALYZE;
