-- The platform: a city asks about projects; members have ideas, vote on them, and comment.
CREATE TABLE members (
    id integer PRIMARY KEY,
    name text NOT NULL UNIQUE,
    salt text NOT NULL,
    password text NOT NULL,
    last_seen timestamp NOT NULL
);

CREATE TABLE projects (
    id integer PRIMARY KEY,
    title text NOT NULL,
    text text NOT NULL,
    ends_on date NOT NULL
);

CREATE TABLE ideas (
    id integer PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects,
    member_id integer NOT NULL REFERENCES members,
    title text NOT NULL,
    text text NOT NULL,
    created_at timestamp NOT NULL
);

CREATE TABLE comments (
    id integer PRIMARY KEY,
    idea_id integer NOT NULL REFERENCES ideas,
    member_id integer NOT NULL REFERENCES members,
    text text NOT NULL,
    created_at timestamp NOT NULL
);

CREATE TABLE votes (
    idea_id integer NOT NULL REFERENCES ideas,
    member_id integer NOT NULL REFERENCES members,
    PRIMARY KEY (idea_id, member_id)
);
