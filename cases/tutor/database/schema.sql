-- The tables of the study. Every version of every code is kept.

CREATE DATABASE tutor CHARACTER SET utf8mb4;
CREATE USER 'tutor'@'localhost' IDENTIFIED BY '';
GRANT ALL ON tutor.* TO 'tutor'@'localhost';
USE tutor;

CREATE TABLE setting (name VARCHAR(40) PRIMARY KEY, value VARCHAR(200) NOT NULL);

CREATE TABLE section (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  title VARCHAR(80) NOT NULL,
  -- Where its students live, as the time zone database names it.
  zone VARCHAR(40) NOT NULL
);

CREATE TABLE account (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  section_id INT UNSIGNED NOT NULL,
  name VARCHAR(40) NOT NULL UNIQUE,
  password_hash CHAR(60) NOT NULL,
  FOREIGN KEY (section_id) REFERENCES section (id)
);

-- A lab, a quiz or an exam.
CREATE TABLE event (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  kind ENUM('lab', 'quiz', 'exam') NOT NULL,
  title VARCHAR(80) NOT NULL
);

CREATE TABLE schedule (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  event_id INT UNSIGNED NOT NULL,
  section_id INT UNSIGNED NOT NULL,
  opens DATETIME NOT NULL,
  closes DATETIME NOT NULL,
  FOREIGN KEY (event_id) REFERENCES event (id),
  FOREIGN KEY (section_id) REFERENCES section (id)
);

CREATE TABLE problem (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  event_id INT UNSIGNED NOT NULL,
  title VARCHAR(80) NOT NULL,
  statement TEXT NOT NULL,
  FOREIGN KEY (event_id) REFERENCES event (id)
);

CREATE TABLE test_case (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  problem_id INT UNSIGNED NOT NULL,
  input TEXT NOT NULL,
  expected TEXT NOT NULL,
  is_visible BOOLEAN NOT NULL,
  FOREIGN KEY (problem_id) REFERENCES problem (id)
);

CREATE TABLE assignment (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  account_id INT UNSIGNED NOT NULL,
  problem_id INT UNSIGNED NOT NULL,
  FOREIGN KEY (account_id) REFERENCES account (id),
  FOREIGN KEY (problem_id) REFERENCES problem (id)
);

-- The index on (assignment_id, save_time) is made after the rows, and is one of the switches.
CREATE TABLE code (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  assignment_id INT UNSIGNED NOT NULL,
  save_time DATETIME(6) NOT NULL,
  contents TEXT NOT NULL,
  KEY code_assignment (assignment_id),
  CONSTRAINT code_of_assignment FOREIGN KEY (assignment_id) REFERENCES assignment (id)
);

CREATE TABLE compilation (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  code_id INT UNSIGNED NOT NULL,
  made DATETIME(6) NOT NULL,
  is_good BOOLEAN NOT NULL,
  messages TEXT NOT NULL,
  FOREIGN KEY (code_id) REFERENCES code (id)
);

CREATE TABLE execution (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  compilation_id INT UNSIGNED NOT NULL,
  made DATETIME(6) NOT NULL,
  exit_code INT,
  stopped VARCHAR(10),
  FOREIGN KEY (compilation_id) REFERENCES compilation (id)
);

CREATE TABLE evaluation (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  compilation_id INT UNSIGNED NOT NULL,
  made DATETIME(6) NOT NULL,
  passed INT UNSIGNED NOT NULL,
  tests INT UNSIGNED NOT NULL,
  FOREIGN KEY (compilation_id) REFERENCES compilation (id)
);
