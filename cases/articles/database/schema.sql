-- The magazine: sections, authors, articles with keywords, what readers wrote below them, and how often each was read.
CREATE TABLE section (
    id integer PRIMARY KEY,
    name text NOT NULL
);

CREATE TABLE author (
    id integer PRIMARY KEY,
    name text NOT NULL
);

CREATE TABLE article (
    id integer PRIMARY KEY,
    section integer NOT NULL REFERENCES section,
    author integer NOT NULL REFERENCES author,
    title text NOT NULL,
    lead text NOT NULL,
    body text NOT NULL,
    published date NOT NULL
);

CREATE TABLE keyword (
    article integer NOT NULL REFERENCES article,
    word integer NOT NULL,
    PRIMARY KEY (article, word)
);

CREATE TABLE comment (
    id integer PRIMARY KEY,
    article integer NOT NULL REFERENCES article,
    reader text NOT NULL,
    written timestamp NOT NULL,
    body text NOT NULL
);

-- Readers of an article on a day.
CREATE TABLE reading (
    article integer NOT NULL REFERENCES article,
    day date NOT NULL,
    readers integer NOT NULL,
    PRIMARY KEY (article, day)
);
