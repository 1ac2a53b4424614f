//! Whether the weight of pages, as browsers measured it, explains how long the service takes for them.
//!
//! A page that the server renders costs it time for each element and each byte. If several pages differ in weight, and
//! their service times at low load lie on a line through it that begins near zero, the weight is what the service works on.

use plimsoll_model::browser::{PageVisit, PageWeight};
use plimsoll_model::run::Run;
use plimsoll_model::url_rows::UrlRows;

use crate::stats::exact::student_quantile;
use crate::stats::line::{line_through, mean};
use crate::summary::browser::median_weight;

/// Pages from which there is a line.
const PAGES_MIN: usize = 5;
/// Ratio of the heaviest to the lightest page from which they differ.
const VARY: f64 = 1.5;
/// Share of the differences between pages that the line must explain.
const EXPLAINED_MIN: f64 = 0.8;
/// Share of the time that must be in proportion to the weight.
const SHARE_MIN: f64 = 0.5;
/// Confidence that the line ascends; two weights are tried.
const CONFIDENCE: f64 = 0.975;
/// The elements are named if they explain nearly as much as the bytes: they are what a developer can count and change.
const AS_GOOD: f64 = 0.02;

/// Where the results of a page are in the windows of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRow {
    /// A URL of a plain load.
    Url(u32),
    /// A step of a journey.
    Step(u32),
}

/// A page that browsers visited and that the load requests.
#[derive(Clone, Debug, PartialEq)]
pub struct WeighedPage {
    /// Path and query.
    pub page: String,
    /// Where its results are.
    pub row: PageRow,
    /// Its weight, a median.
    pub weight: PageWeight,
}

/// What a page is weighed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeighedBy {
    /// Elements of the document, as the server sends it.
    Nodes,
    /// Bytes of the document.
    Bytes,
}

impl WeighedBy {
    fn of(self, weight: &PageWeight) -> u64 {
        match self {
            Self::Nodes => weight.document_nodes,
            Self::Bytes => weight.document_bytes,
        }
    }
}

/// A weight that explains the time of pages.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentWeight {
    /// Which one.
    pub by: WeighedBy,
    /// Page, its weight, and its service time in s, the lightest first.
    pub pages: Vec<(String, f64, f64)>,
    /// Time for each node or byte, s.
    pub each_s: f64,
    /// Share of the differences between pages that it explains, 0 to 1.
    pub explained: f64,
    /// Share of the time of a mean page that is in proportion to the weight, 0 to 1.
    pub share: f64,
}

/// The pages of a run that were visited and are requested by the load.
pub fn pages(run: &Run) -> Vec<WeighedPage> {
    let plan = &run.header.plan;
    let Some(browser) = plan.browser.as_deref() else {
        return Vec::new();
    };
    let pages = (0_u32..).zip(&browser.pages);
    pages
        .filter_map(|(index, page)| {
            let visits = run.visits.iter();
            let visits: Vec<&PageVisit> = visits
                .filter(|visit| visit.page == index && visit.is_ready())
                .collect();
            Some(WeighedPage {
                page: page.clone(),
                row: row_of(run, page)?,
                weight: median_weight(&visits)?,
            })
        })
        .collect()
}

/// The URL or the step that requests a page.
fn row_of(run: &Run, page: &str) -> Option<PageRow> {
    let plan = &run.header.plan;
    if let Some(scenario) = &plan.scenario {
        let mut steps = (0_u32..).zip(&scenario.steps);
        let own = steps.find(|(_, step)| step.label.strip_prefix("GET ") == Some(page));
        return own.map(|(id, _)| PageRow::Step(id));
    }
    let rows = UrlRows::of(&plan.request.paths);
    let mut rows = (0_u32..).zip(rows.rows());
    // A row of several URLs has no page.
    let own = rows.find(|(_, (label, urls))| *urls == 1 && *label == page);
    own.map(|(row, _)| PageRow::Url(row))
}

/// The weight that explains the times of these pages; `time_s` gives a page's service time at low load.
pub fn explain(
    pages: &[WeighedPage],
    time_s: impl Fn(PageRow) -> Option<f64>,
) -> Option<ContentWeight> {
    let [nodes, bytes] = [WeighedBy::Nodes, WeighedBy::Bytes].map(|by| {
        let points = pages.iter().filter_map(|page| {
            let weight = by.of(&page.weight) as f64;
            Some((page.page.clone(), weight, time_s(page.row)?))
        });
        explained_by(by, points.collect())
    });
    match (nodes, bytes) {
        (Some(nodes), Some(bytes)) if bytes.explained > nodes.explained + AS_GOOD => Some(bytes),
        (Some(nodes), _) => Some(nodes),
        (None, bytes) => bytes,
    }
}

fn explained_by(by: WeighedBy, mut pages: Vec<(String, f64, f64)>) -> Option<ContentWeight> {
    pages.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (lightest, heaviest) = (pages.first()?.1, pages.last()?.1);
    if pages.len() < PAGES_MIN || heaviest < VARY * lightest.max(1.0) {
        return None;
    }
    let points: Vec<(f64, f64)> = pages.iter().map(|page| (page.1, page.2)).collect();
    let line = line_through(&points)?;
    let times: Vec<f64> = points.iter().map(|point| point.1).collect();
    let weights: Vec<f64> = points.iter().map(|point| point.0).collect();
    let (mean_time, mean_weight) = (mean(&times)?, mean(&weights)?);
    let all: f64 = times.iter().map(|time| (time - mean_time).powi(2)).sum();
    let left: f64 = points
        .iter()
        .map(|point| (point.1 - line.at(point.0)).powi(2))
        .sum();
    if all <= 0.0 || mean_time <= 0.0 {
        return None;
    }
    let explained = 1.0 - left / all;
    let share = (line.slope * mean_weight / mean_time).min(1.0);
    let half = student_quantile(points.len() as f64 - 2.0, CONFIDENCE)? * line.slope_error;
    let is_sure = line.slope - half > 0.0;
    (is_sure && explained >= EXPLAINED_MIN && share >= SHARE_MIN).then_some(ContentWeight {
        by,
        pages,
        each_s: line.slope,
        explained,
        share,
    })
}

impl ContentWeight {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self.by {
            WeighedBy::Nodes => "nodes",
            WeighedBy::Bytes => "bytes",
        }
    }

    /// One sentence with the numbers.
    pub fn sentence(&self) -> String {
        let name = self.name();
        let end = |page: Option<&(String, f64, f64)>| {
            page.map_or_else(String::new, |(page, weight, time_s)| {
                format!("{:.1} ms for {weight:.0} {name} ({page})", time_s * 1e3)
            })
        };
        let (unit, each) = match self.by {
            WeighedBy::Nodes => ("node", self.each_s),
            WeighedBy::Bytes => ("kB", self.each_s * 1e3),
        };
        format!(
            "the time of a page grows with its {name}: {}, {}; over {} pages, {:.0} µs for each {unit} explain {:.0} % of the \
             differences and {:.0} % of the time",
            end(self.pages.first()),
            end(self.pages.last()),
            self.pages.len(),
            each * 1e6,
            self.explained * 100.0,
            self.share * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages with these nodes, bytes and times in ms.
    fn weighed(pages: &[(u64, u64, f64)]) -> Option<ContentWeight> {
        let weighed: Vec<WeighedPage> = (0_u32..)
            .zip(pages)
            .map(|(index, &(nodes, bytes, _))| WeighedPage {
                page: format!("/{index}"),
                row: PageRow::Url(index),
                weight: PageWeight {
                    document_nodes: nodes,
                    document_bytes: bytes,
                    ..PageWeight::default()
                },
            })
            .collect();
        explain(&weighed, |row| match row {
            PageRow::Url(row) => pages.get(row as usize).map(|page| page.2 / 1e3),
            PageRow::Step(_) => None,
        })
    }

    #[test]
    fn time_in_proportion_to_the_nodes_is_explained_by_them() {
        let pages = [
            (362, 20_000, 16.8),
            (450, 90_000, 20.1),
            (520, 30_000, 23.6),
            (600, 25_000, 26.9),
            (670, 40_000, 30.2),
        ];
        let found = weighed(&pages).unwrap();
        assert_eq!(found.by, WeighedBy::Nodes);
        assert!(found.explained > 0.99 && found.share > 0.9, "{found:?}");
        let sentence = found.sentence();
        let expected = "16.8 ms for 362 nodes (/0), 30.2 ms for 670 nodes (/4); over 5 pages, 44 µs for each node explain 100 % \
                        of the differences";
        assert!(sentence.contains(expected), "{sentence}");
    }

    #[test]
    fn bytes_are_named_where_the_nodes_do_not_explain() {
        let pages = [
            (500, 10_000, 5.2),
            (510, 20_000, 9.9),
            (490, 30_000, 15.2),
            (505, 40_000, 19.8),
            (495, 50_000, 25.1),
        ];
        let found = weighed(&pages).unwrap();
        assert_eq!(found.by, WeighedBy::Bytes);
        assert!(found.sentence().contains("µs for each kB"), "{found:?}");
    }

    #[test]
    fn what_the_weight_does_not_explain_is_left_alone() {
        // A time of its own for every page.
        let own = [
            (362, 1, 30.0),
            (450, 2, 12.0),
            (520, 3, 25.0),
            (600, 4, 14.0),
            (670, 5, 28.0),
        ];
        assert_eq!(weighed(&own), None);
        // Most of the time is the same for all.
        let same = [
            (362, 1, 100.3),
            (450, 1, 100.4),
            (520, 1, 100.5),
            (600, 1, 100.6),
            (670, 1, 100.7),
        ];
        assert_eq!(weighed(&same), None);
        // Four pages, and five of about the same weight.
        let line = |nodes: u64| (nodes, 1, nodes as f64 / 20.0);
        assert_eq!(weighed(&[362, 450, 520, 670].map(line)), None);
        assert_eq!(weighed(&[600, 610, 620, 630, 640].map(line)), None);
        assert!(weighed(&[362, 450, 520, 600, 670].map(line)).is_some());
    }
}
