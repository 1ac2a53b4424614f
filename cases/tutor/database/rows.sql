-- A term with its exam under way: 600 candidates, 312,000 versions of code. The same rows every time.

USE tutor;
SET unique_checks = 0, foreign_key_checks = 0;

INSERT INTO setting VALUES
  ('course', 'Introduction to programming'),
  ('institute', 'Institute of the example'),
  ('contact', 'the tutor of your section');

INSERT INTO section (title, zone)
  SELECT CONCAT('Section ', seq), ELT(1 + seq % 4, 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'America/Sao_Paulo')
  FROM seq_1_to_12;

-- All have the password `traffic light`: a hash for each would take a minute, and is the same work to check.
INSERT INTO account (section_id, name, password_hash)
  SELECT 1 + (seq - 1) % 12, CONCAT('candidate', LPAD(seq, 4, '0')),
    '$2b$10$abcdefghijklmnopqrstuu5bdVdvVUY3vbiMkeiREv96BA164zZuu'
  FROM seq_1_to_600;

INSERT INTO event (kind, title) VALUES ('exam', 'Midterm exam'), ('lab', 'Lab 1'), ('lab', 'Lab 2');

INSERT INTO schedule (event_id, section_id, opens, closes)
  SELECT event.id, section.id, '2018-02-01 09:00:00' + INTERVAL event.id DAY, '2018-02-01 12:00:00' + INTERVAL event.id DAY
  FROM event JOIN section;

INSERT INTO problem (event_id, title, statement) VALUES
  (1, 'Traffic light', 'Read numbers. For each, print the phase of a traffic light (red, green, yellow) and hold it for 500 ms.'),
  (2, 'Sum', 'Read numbers and print their sum.'),
  (3, 'Backwards', 'Read a line and print it from its end to its start.');

INSERT INTO test_case (problem_id, input, expected, is_visible) VALUES
  (1, '0 1', 'red\ngreen', TRUE),
  (1, '2 4', 'yellow\ngreen', FALSE),
  (1, '9 5', 'red\nyellow', FALSE),
  (2, '1 2 3', '6', TRUE),
  (2, '-1 1', '0', FALSE),
  (2, '', '0', FALSE),
  (3, 'abc', 'cba', TRUE),
  (3, 'a', 'a', FALSE),
  (3, '12 34', '43 21', FALSE);

-- The exam's first, so that it stands first on each home page.
INSERT INTO assignment (id, account_id, problem_id)
  SELECT seq, 1 + (seq - 1) DIV 3, 1 + (seq - 1) % 3 FROM seq_1_to_1800;

-- Labs: 10 versions each. Exam: one every 20 s or so, 500 each. Versions of all candidates come in turn, as in time.
INSERT INTO code (assignment_id, save_time, contents)
  SELECT 3 * ((seq DIV 2) % 600) + 2 + seq % 2,
    '2018-01-15 09:00:00.000000' + INTERVAL seq * 900 * 1000 MICROSECOND,
    CONCAT('/* version ', seq DIV 1200, ' */\n', REPEAT('#include <stdio.h>\n', 1 + seq % 4),
      'int main(void)\n{\n', REPEAT('    puts("another line of a lab");\n', 4 + seq % 7), '    return 0;\n}\n')
  FROM seq_0_to_11999;

INSERT INTO code (assignment_id, save_time, contents)
  SELECT 3 * (seq % 600) + 1,
    '2018-02-02 09:00:00.000000' + INTERVAL seq * 36 * 1000 MICROSECOND,
    CONCAT('/* version ', seq DIV 600, ' */\n#include <stdio.h>\n\nint main(void)\n{\n    int number;\n\n',
      REPEAT('    if (scanf("%d", &number) == 1)\n        puts("red, green or yellow");\n', 4 + seq DIV 30000),
      '    return 0;\n}\n')
  FROM seq_0_to_299999;

ALTER TABLE code ADD KEY code_assignment_save_time (assignment_id, save_time);

-- Past terms: their rows are archived in tables of their own, which the mapper finds again each time it looks.
DELIMITER //
FOR term IN 1..16 DO
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE code_term', term, ' LIKE code');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE assignment_term', term, ' LIKE assignment');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE compilation_term', term, ' LIKE compilation');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE execution_term', term, ' LIKE execution');
  EXECUTE IMMEDIATE CONCAT('CREATE TABLE evaluation_term', term, ' LIKE evaluation');
END FOR //
DELIMITER ;

ANALYZE TABLE account, assignment, code;
