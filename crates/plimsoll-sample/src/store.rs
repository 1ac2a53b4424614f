//! The articles in SQLite: written once, read by one connection per worker.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, named_params, params};

use crate::SiteError;
use crate::prose::{AUTHORS, Newsroom, SECTIONS, TOPICS};

/// Articles in the paper.
pub(crate) const ARTICLE_COUNT: i64 = 400;

/// Seed of the articles: every demo reads the same paper.
const SEED: u64 = 670;

/// Stored in the file's `user_version`: a file of another version is recreated.
const SCHEMA_VERSION: i64 = 1;

const SCHEMA: &str = "
    CREATE TABLE section (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE topic (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE article (
        id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL, published INTEGER NOT NULL,
        section INTEGER NOT NULL REFERENCES section, author INTEGER NOT NULL REFERENCES author
    );
    CREATE TABLE article_topic (
        article INTEGER NOT NULL REFERENCES article, topic INTEGER NOT NULL REFERENCES topic,
        PRIMARY KEY (article, topic)
    ) WITHOUT ROWID;
    CREATE TABLE comment (
        id INTEGER PRIMARY KEY, article INTEGER NOT NULL REFERENCES article,
        author TEXT NOT NULL, text TEXT NOT NULL
    );
    CREATE INDEX article_by_section ON article (section, published DESC);
    CREATE INDEX article_by_time ON article (published DESC);
    CREATE INDEX topic_articles ON article_topic (topic, article);
    CREATE INDEX comment_by_article ON comment (article);
";

/// An article as its row holds it.
#[derive(Debug)]
pub(crate) struct Article {
    pub(crate) id: i64,
    pub(crate) title: String,
    pub(crate) body: String,
    /// Minutes since the paper's first edition.
    pub(crate) published: i64,
    pub(crate) section: i64,
    pub(crate) author: i64,
}

/// A reader's comment.
#[derive(Debug)]
pub(crate) struct Comment {
    pub(crate) author: String,
    pub(crate) text: String,
}

/// Creates the database file in `folder` if needed and returns its path.
pub(crate) fn prepare(folder: &Path) -> Result<PathBuf, SiteError> {
    let path = folder.join("articles.sqlite");
    let failed = |source| SiteError::Store {
        path: path.clone(),
        source,
    };
    let connection = Connection::open(&path).map_err(failed)?;
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(failed)?;
    if version != SCHEMA_VERSION {
        write(connection).map_err(failed)?;
    }
    Ok(path)
}

/// One transaction: an interrupted start leaves no partial data.
fn write(mut connection: Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    for (table, names) in [
        ("section", &SECTIONS[..]),
        ("author", &AUTHORS[..]),
        ("topic", &TOPICS[..]),
    ] {
        let mut insert =
            transaction.prepare(&format!("INSERT INTO {table} (id, name) VALUES (?1, ?2)"))?;
        for (id, name) in (0_i64..).zip(names) {
            insert.execute(params![id, name])?;
        }
    }
    let mut newsroom = Newsroom::open(SEED);
    for id in 0..ARTICLE_COUNT {
        let draft = newsroom.draft();
        transaction.execute(
            "INSERT INTO article (id, title, body, published, section, author) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id, draft.title, draft.body, id * 47, draft.section, draft.author],
        )?;
        for topic in draft.topics {
            transaction.execute(
                "INSERT OR IGNORE INTO article_topic VALUES (?1, ?2)",
                params![id, topic],
            )?;
        }
        for reader in 0..draft.comments {
            transaction.execute(
                "INSERT INTO comment (article, author, text) VALUES (?1, ?2, ?3)",
                params![
                    id,
                    format!("Reader {}", (id * 7 + reader * 13) % 900),
                    newsroom.remark()
                ],
            )?;
        }
    }
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()
}

/// A worker's own read-only connection.
pub(crate) struct Store {
    connection: Connection,
}

impl Store {
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ok(Self {
            connection: Connection::open_with_flags(path, flags)?,
        })
    }

    pub(crate) fn article(&self, id: i64) -> rusqlite::Result<Option<Article>> {
        self.connection
            .prepare_cached("SELECT * FROM article WHERE id = ?1")?
            .query_row([id], article)
            .optional()
    }

    /// The newest articles.
    pub(crate) fn latest(&self, count: u32) -> rusqlite::Result<Vec<Article>> {
        self.articles(
            "SELECT * FROM article ORDER BY published DESC LIMIT :count",
            &[(":count", &count)],
        )
    }

    /// The newest articles of a section.
    pub(crate) fn in_section(&self, section: i64, count: u32) -> rusqlite::Result<Vec<Article>> {
        self.articles(
            "SELECT * FROM article WHERE section = :section ORDER BY published DESC LIMIT :count",
            named_params! { ":section": section, ":count": count },
        )
    }

    /// The newest articles on a topic, whose name is compared without case.
    pub(crate) fn on_topic(&self, topic: &str, count: u32) -> rusqlite::Result<Vec<Article>> {
        self.articles(
            "SELECT article.* FROM article
             JOIN article_topic ON article_topic.article = article.id
             JOIN topic ON topic.id = article_topic.topic
             WHERE topic.name = :topic COLLATE NOCASE ORDER BY published DESC LIMIT :count",
            named_params! { ":topic": topic, ":count": count },
        )
    }

    /// Articles that share topics with this one, those with the most first.
    pub(crate) fn related(&self, id: i64, count: u32) -> rusqlite::Result<Vec<Article>> {
        self.articles(
            "SELECT article.* FROM article_topic AS mine
             JOIN article_topic AS other ON other.topic = mine.topic AND other.article <> mine.article
             JOIN article ON article.id = other.article
             WHERE mine.article = :id
             GROUP BY article.id ORDER BY count(*) DESC, published DESC LIMIT :count",
            named_params! { ":id": id, ":count": count },
        )
    }

    pub(crate) fn comments(&self, article: i64) -> rusqlite::Result<Vec<Comment>> {
        self.connection
            .prepare_cached("SELECT author, text FROM comment WHERE article = ?1 ORDER BY id")?
            .query_map([article], |row| {
                Ok(Comment {
                    author: row.get(0)?,
                    text: row.get(1)?,
                })
            })?
            .collect()
    }

    pub(crate) fn comment_count(&self, article: i64) -> rusqlite::Result<i64> {
        self.value("SELECT count(*) FROM comment WHERE article = ?1", article)
    }

    pub(crate) fn section(&self, id: i64) -> rusqlite::Result<String> {
        self.value("SELECT name FROM section WHERE id = ?1", id)
    }

    pub(crate) fn author(&self, id: i64) -> rusqlite::Result<String> {
        self.value("SELECT name FROM author WHERE id = ?1", id)
    }

    pub(crate) fn topics(&self, article: i64) -> rusqlite::Result<Vec<String>> {
        self.connection
            .prepare_cached(
                "SELECT name FROM topic JOIN article_topic ON topic.id = article_topic.topic
                 WHERE article_topic.article = ?1 ORDER BY name",
            )?
            .query_map([article], |row| row.get(0))?
            .collect()
    }

    fn value<T: rusqlite::types::FromSql>(&self, sql: &str, id: i64) -> rusqlite::Result<T> {
        self.connection
            .prepare_cached(sql)?
            .query_row([id], |row| row.get(0))
    }

    fn articles(
        &self,
        sql: &str,
        parameters: &[(&str, &dyn rusqlite::ToSql)],
    ) -> rusqlite::Result<Vec<Article>> {
        self.connection
            .prepare_cached(sql)?
            .query_map(parameters, article)?
            .collect()
    }
}

fn article(row: &Row<'_>) -> rusqlite::Result<Article> {
    Ok(Article {
        id: row.get("id")?,
        title: row.get("title")?,
        body: row.get("body")?,
        published: row.get("published")?,
        section: row.get("section")?,
        author: row.get("author")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_is_written_once_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = prepare(folder.path()).unwrap();
        let written = std::fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(prepare(folder.path()).unwrap(), path);
        assert_eq!(
            std::fs::metadata(&path).unwrap().modified().unwrap(),
            written
        );

        let store = Store::open(&path).unwrap();
        let latest = store.latest(3).unwrap();
        assert_eq!(
            latest.iter().map(|article| article.id).collect::<Vec<_>>(),
            [399, 398, 397]
        );
        let related = store.related(7, 5).unwrap();
        let topics = store.topics(7).unwrap();
        assert!(related.iter().all(|other| {
            let theirs = store.topics(other.id).unwrap();
            other.id != 7 && theirs.iter().any(|topic| topics.contains(topic))
        }));
        assert!(store.article(ARTICLE_COUNT).unwrap().is_none());
        let counted: i64 = (0..400).map(|id| store.comment_count(id).unwrap()).sum();
        let read: usize = (0..400).map(|id| store.comments(id).unwrap().len()).sum();
        assert_eq!(counted, i64::try_from(read).unwrap());
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = prepare(Path::new("/no/such/folder")).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("/no/such/folder/articles.sqlite"),
            "{error}"
        );
    }
}
