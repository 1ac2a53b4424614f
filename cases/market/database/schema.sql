-- The market: games, their pools, and what people predict of them. Six games with ten pools of two sides each.
CREATE DATABASE market CHARACTER SET utf8mb4;
USE market;

CREATE TABLE games (
  id INT PRIMARY KEY,
  name VARCHAR(60) NOT NULL
) ENGINE = InnoDB;

CREATE TABLE pools (
  id INT PRIMARY KEY,
  game INT NOT NULL,
  question VARCHAR(120) NOT NULL,
  first INT NOT NULL DEFAULT 1,
  second INT NOT NULL DEFAULT 1,
  KEY (game)
) ENGINE = InnoDB;

CREATE TABLE predictions (
  id BIGINT AUTO_INCREMENT PRIMARY KEY,
  pool INT NOT NULL,
  side TINYINT NOT NULL,
  KEY (pool)
) ENGINE = InnoDB;

INSERT INTO games SELECT seq, CONCAT('game ', seq) FROM seq_1_to_6;
INSERT INTO pools (id, game, question)
  SELECT seq, 1 + (seq - 1) DIV 10, CONCAT('Who wins set ', 1 + (seq - 1) MOD 10, '?') FROM seq_1_to_60;
