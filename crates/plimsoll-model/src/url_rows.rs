//! The rows under which the URLs of a plain load are counted: one each where they are few, one for each route where
//! they are many.
//!
//! A run may request a hundred thousand URLs, and a histogram for each of them would be of no use to a reader. The rows
//! are a function of the paths as the run log has them, so that load and report agree without storing them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::redact;

/// Rows at most, [`OTHER`] included.
pub const URL_ROWS_MAX: usize = 50;

/// Label of the row of all URLs without a row of their own.
pub const OTHER: &str = "other";

/// Stands for a segment that identifies an object.
const ID: &str = "{id}";

/// Stands for the last segment of a path.
const NAME: &str = "{name}";

/// Each URL's row, and the label of each row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UrlRows {
    labels: Vec<String>,
    urls: Vec<u64>,
    rows: Vec<u32>,
}

/// From exact to coarse: the first under which there are few enough rows is taken.
#[derive(Clone, Copy, Debug)]
enum Grouping {
    /// The whole target.
    Target,
    /// Without the query.
    Path,
    /// Without the query, and any segment that looks like an identifier as `{id}`.
    Route,
    /// As a route, and its last segment as `{name}`.
    Folder,
}

impl UrlRows {
    /// The rows of the paths of a plan, redacted or not.
    pub fn of(paths: &[String]) -> Self {
        let few = [Grouping::Target, Grouping::Path, Grouping::Route]
            .into_iter()
            .map(|grouping| Self::grouped(paths, grouping, URL_ROWS_MAX + 1))
            .find(|rows| rows.len() <= URL_ROWS_MAX);
        few.unwrap_or_else(|| Self::grouped(paths, Grouping::Folder, usize::MAX).with_rest())
    }

    /// Stops when there are `rows_max` rows: the grouping is too fine then.
    fn grouped(paths: &[String], grouping: Grouping, rows_max: usize) -> Self {
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut rows = Self::default();
        for path in paths {
            let next = u32::try_from(rows.labels.len()).unwrap_or(u32::MAX);
            let row = match known.entry(label(path, grouping)) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    rows.labels.push(entry.key().clone());
                    rows.urls.push(0);
                    *entry.insert(next)
                }
            };
            rows.urls[row as usize] += 1;
            rows.rows.push(row);
            if rows.labels.len() >= rows_max {
                break;
            }
        }
        rows
    }

    /// The rows with the most URLs, the first where several have as many, and one for the rest.
    fn with_rest(self) -> Self {
        if self.labels.len() <= URL_ROWS_MAX {
            return self;
        }
        let mut by_size: Vec<usize> = (0..self.labels.len()).collect();
        by_size.sort_by_key(|&row| std::cmp::Reverse(self.urls[row]));
        by_size.truncate(URL_ROWS_MAX - 1);
        by_size.sort_unstable();
        let rest = u32::try_from(by_size.len()).unwrap_or(u32::MAX);
        let mut places = vec![rest; self.labels.len()];
        for (place, &row) in (0..).zip(&by_size) {
            places[row] = place;
        }
        let kept = by_size.iter().map(|&row| self.labels[row].clone());
        let mut urls: Vec<u64> = by_size.iter().map(|&row| self.urls[row]).collect();
        urls.push(self.urls.iter().sum::<u64>() - urls.iter().sum::<u64>());
        Self {
            labels: kept.chain([OTHER.to_owned()]).collect(),
            urls,
            rows: self.rows.iter().map(|&row| places[row as usize]).collect(),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no URLs.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The row of the URL with this index; `None` for one that the plan does not have.
    pub fn row(&self, url: usize) -> Option<u32> {
        self.rows.get(url).copied()
    }

    /// Label and number of URLs of each row, in the order of the plan.
    pub fn rows(&self) -> impl Iterator<Item = (&str, u64)> {
        let labels = self.labels.iter().map(String::as_str);
        labels.zip(self.urls.iter().copied())
    }
}

fn label(target: &str, grouping: Grouping) -> String {
    let target = redact::target(target);
    if matches!(grouping, Grouping::Target) {
        return target.into_owned();
    }
    let path = target.split(['?', '#']).next().unwrap_or_default();
    if matches!(grouping, Grouping::Path) {
        return path.to_owned();
    }
    let segments = path
        .split('/')
        .map(|segment| if is_identifier(segment) { ID } else { segment });
    let mut segments: Vec<&str> = segments.collect();
    if matches!(grouping, Grouping::Folder)
        && let Some(last) = segments.last_mut().filter(|last| !last.is_empty())
    {
        *last = NAME;
    }
    segments.join("/")
}

/// Whether a segment of a path has a digit and is no version, as in `/v2/`.
fn is_identifier(segment: &str) -> bool {
    let version = segment.strip_prefix(['v', 'V']).unwrap_or_default();
    let is_version =
        (1..=2).contains(&version.len()) && version.bytes().all(|b| b.is_ascii_digit());
    !is_version && segment.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows_of(paths: impl IntoIterator<Item = String>) -> UrlRows {
        UrlRows::of(&paths.into_iter().collect::<Vec<_>>())
    }

    fn labels(rows: &UrlRows) -> Vec<(&str, u64)> {
        rows.rows().collect()
    }

    #[test]
    fn few_urls_have_a_row_each() {
        let rows = rows_of(["/a?x=1", "/a?x=2", "/b", "/a?x=1"].map(str::to_owned));
        assert_eq!(labels(&rows), [("/a?x=1", 2), ("/a?x=2", 1), ("/b", 1)]);
        assert_eq!(
            [0, 1, 2, 3].map(|url| rows.row(url)),
            [Some(0), Some(1), Some(2), Some(0)]
        );
        assert_eq!(rows.row(4), None);
    }

    #[test]
    fn many_urls_have_a_row_for_each_path_or_route_or_folder() {
        let searches = rows_of(
            (0..400)
                .map(|n| format!("/search?q={n}"))
                .chain(["/v2/all".to_owned()]),
        );
        assert_eq!(labels(&searches), [("/search", 400), ("/v2/all", 1)]);
        let orders = rows_of((0..400).map(|n| format!("/v2/orders/{n}/lines?page={n}")));
        assert_eq!(labels(&orders), [("/v2/orders/{id}/lines", 400)]);
        let word = |n: u8| {
            char::from(b'a' + n % 26)
                .to_string()
                .repeat(1 + usize::from(n / 26))
        };
        let news = rows_of(
            (0..200)
                .map(|n| format!("/news/{}", word(n)))
                .chain(["/".to_owned()]),
        );
        assert_eq!(labels(&news), [("/news/{name}", 200), ("/", 1)]);
    }

    #[test]
    fn what_is_left_is_one_row() {
        let word = |n: u8| {
            char::from(b'a' + n % 26)
                .to_string()
                .repeat(1 + usize::from(n / 26))
        };
        let paths = (0..200).flat_map(|n| {
            let copies = if n >= 190 { 3 } else { 1 };
            (0..copies).map(move |copy| format!("/{}/{}", word(n), word(copy)))
        });
        let rows = rows_of(paths);
        assert_eq!(rows.len(), URL_ROWS_MAX);
        let all = labels(&rows);
        // Ten folders of three URLs, and the first 39 of those with one.
        assert_eq!(all.last(), Some(&(OTHER, 151)));
        assert_eq!((all[38], all[39].1), (("/mm/{name}", 1), 3));
        assert_eq!(
            [0, 38, 39, 219].map(|url| rows.row(url)),
            [Some(0), Some(38), Some(49), Some(48)]
        );
    }

    #[test]
    fn secrets_are_in_no_label() {
        let rows = rows_of(["/a?token=one", "/a?token=two"].map(str::to_owned));
        assert_eq!(labels(&rows), [("/a?token=[redacted]", 2)]);
    }

    proptest! {
        #[test]
        fn the_log_gives_the_same_rows(
            paths in prop::collection::vec("/[ab1]{0,2}(/[a-c0-9]{0,3}){0,2}([?;](token|x)=[a-z0-9]{0,3}){0,2}", 1..300),
        ) {
            let rows = UrlRows::of(&paths);
            let stored: Vec<String> = paths.iter().map(|path| redact::target(path).into_owned()).collect();
            prop_assert_eq!(&UrlRows::of(&stored), &rows);
            prop_assert!((1..=URL_ROWS_MAX).contains(&rows.len()));
            let urls: u64 = rows.rows().map(|row| row.1).sum();
            prop_assert_eq!(urls, paths.len() as u64);
            for url in 0..paths.len() {
                prop_assert!(rows.row(url).is_some_and(|row| (row as usize) < rows.len()));
            }
        }
    }
}
