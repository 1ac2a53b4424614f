-- 4,000 articles, 20,000 keywords, 40,000 comments, 56,000 readings; the same in every run, nothing is drawn.
CREATE FUNCTION sentence(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT (ARRAY['The council', 'A reader', 'The harbour', 'Her colleague', 'The museum', 'A small firm', 'The ministry',
                  'Nobody', 'The old bridge', 'A new timetable', 'The orchestra', 'Our correspondent'])[n % 12 + 1]
        || (ARRAY[' decided', ' was told', ' had hoped', ' forgot', ' announced', ' waited', ' refused'])[n % 7 + 1]
        || (ARRAY[' that the work would take another year', ' what everybody else knew by then',
                  ' why the figures did not add up', ' that the money had been spent on something else',
                  ' how it had come to this'])[n % 5 + 1]
        || (ARRAY[', as it has been since spring. ', ', although nothing was signed. ', '. ',
                  ', and few were surprised. '])[n % 4 + 1]
$$;

INSERT INTO section SELECT n, 'Section ' || n FROM generate_series(0, 15) AS n;

INSERT INTO author SELECT n, 'Author ' || n FROM generate_series(0, 59) AS n;

INSERT INTO article
SELECT n, n % 16, n * 31 % 60, 'Number ' || n || ': ' || rtrim(sentence(n * 17)), sentence(n * 3) || sentence(n * 5 + 1),
       (SELECT string_agg(sentence(n * 13 + s * 7), '') FROM generate_series(1, 220) AS s),
       date '2003-01-01' + n * 365 / 4000
FROM generate_series(0, 3999) AS n;

INSERT INTO keyword
SELECT n, (n * 7 + k * (k + 23)) % 100 FROM generate_series(0, 3999) AS n, generate_series(0, 4) AS k
ON CONFLICT DO NOTHING;

INSERT INTO comment
SELECT n, n * 7 % 4000, 'Reader ' || n * 11 % 900, timestamp '2003-01-01' + n * interval '13 minutes', sentence(n)
FROM generate_series(0, 39999) AS n;

INSERT INTO reading
SELECT n, date '2003-12-18' + d, (n * 37 + d * d * 91) % 4000
FROM generate_series(0, 3999) AS n, generate_series(0, 13) AS d;

CREATE INDEX article_section ON article (section, published);
CREATE INDEX keyword_word ON keyword (word);
CREATE INDEX comment_article ON comment (article, written);

VACUUM ANALYZE section, author, article, keyword, comment, reading;
