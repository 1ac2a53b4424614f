//! The tables of the articles, for the terminal and for the page.

use plimsoll_harness::page::{Table, cell, percent};

use super::measure::RateSample;
use super::study::{ArticleBody, ArticlesSetup};

/// One body through one way, over all rates.
pub(super) struct Sweep {
    pub(super) body: ArticleBody,
    pub(super) way: ArticlesSetup,
    pub(super) samples: Vec<RateSample>,
}

impl Sweep {
    /// Most good answers a second at any rate that was measured validly.
    fn most(&self) -> Option<f64> {
        let valid = self.samples.iter().filter(|sample| sample.void.is_none());
        valid.map(|sample| sample.answered).reduce(f64::max)
    }

    /// Good answers a second at the highest rate, if that was measured validly.
    fn last(&self) -> Option<f64> {
        let last = self.samples.last()?;
        last.void.is_none().then_some(last.answered)
    }
}

/// Most that each way answered, beside the study's.
pub(super) fn summary(sweeps: &[Sweep]) -> Table {
    let mut table = Table::new([
        "",
        "through",
        "most good answers a second",
        "at the highest rate",
        "against alone",
        "the study's most",
        "the study's ratio",
    ]);
    for sweep in sweeps {
        let alone = sweeps
            .iter()
            .find(|other| other.body == sweep.body && other.way == ArticlesSetup::Alone)
            .and_then(Sweep::most);
        let none = || "–".to_owned();
        let ratio = match (sweep.way, sweep.most().zip(alone)) {
            (ArticlesSetup::Edge | ArticlesSetup::Cached, Some((most, alone))) => {
                format!("{:.1}x", most / alone)
            }
            _ => none(),
        };
        let (uncached, cached) = sweep.body.study();
        let [study, study_ratio] = match sweep.way {
            ArticlesSetup::Alone => [uncached.to_string(), none()],
            ArticlesSetup::Edge => [none(), none()],
            ArticlesSetup::Cached => [cached.to_string(), format!("{:.1}x", cached / uncached)],
        };
        table.row([
            sweep.body.title(),
            sweep.way.title(),
            &cell(sweep.most(), 0),
            &cell(sweep.last(), 0),
            &ratio,
            &study,
            &study_ratio,
        ]);
    }
    table
}

/// Every rate of one body, a line each.
pub(super) fn table(body: ArticleBody, sweeps: &[Sweep]) -> Table {
    let sweeps: Vec<&Sweep> = sweeps.iter().filter(|sweep| sweep.body == body).collect();
    let mut head = vec!["offered req/s".to_owned()];
    for sweep in &sweeps {
        head.push(format!("{}: good/s", sweep.way.title()));
        head.extend(["p50 ms", "p95 ms", "failed"].map(ToOwned::to_owned));
    }
    let mut table = Table::new(head);
    let rates = sweeps.iter().map(|sweep| sweep.samples.len()).max();
    for place in 0..rates.unwrap_or_default() {
        let samples: Vec<Option<&RateSample>> = sweeps
            .iter()
            .map(|sweep| sweep.samples.get(place))
            .collect();
        let offered = samples.iter().flatten().next().map(|sample| sample.offered);
        let mut row = vec![cell(offered, 0)];
        row.extend(samples.into_iter().flat_map(cells));
        table.row(row);
    }
    table
}

fn cells(sample: Option<&RateSample>) -> [String; 4] {
    let none = || "–".to_owned();
    match sample {
        None => [none(), none(), none(), none()],
        Some(RateSample {
            void: Some(why), ..
        }) => [format!("void: {why}"), none(), none(), none()],
        Some(sample) => [
            cell(Some(sample.answered), 0),
            time(sample.p50_ms),
            time(sample.p95_ms),
            percent(sample.failed),
        ],
    }
}

fn time(ms: Option<f64>) -> String {
    cell(ms, usize::from(ms.is_some_and(|ms| ms < 10.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(answered: f64, void: Option<&str>) -> RateSample {
        RateSample {
            offered: 500.4,
            answered,
            failed: 0.25,
            p50_ms: Some(3.12),
            p95_ms: Some(300.2),
            void: void.map(str::to_owned),
        }
    }

    fn sweeps() -> [Sweep; 2] {
        let sweep = |way, samples| Sweep {
            body: ArticleBody::Short,
            way,
            samples,
        };
        [
            sweep(
                ArticlesSetup::Alone,
                vec![sample(80.0, None), sample(0.0, None)],
            ),
            sweep(
                ArticlesSetup::Cached,
                vec![sample(480.0, None), sample(900.0, Some("it lagged"))],
            ),
        ]
    }

    #[test]
    fn what_is_void_counts_nowhere() {
        let summary = summary(&sweeps()).to_string();
        let lines: Vec<&str> = summary.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| the short body, 933 bytes | the magazine alone | 80 | 0 | – | 48.2 | – |",
                "| the short body, 933 bytes | cached at the edge | 480 | – | 6.0x | 366.7 | 7.6x |",
            ]
        );
        let table = table(ArticleBody::Short, &sweeps()).to_string();
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| 500 | 80 | 3.1 | 300 | 25.0 % | 480 | 3.1 | 300 | 25.0 % |",
                "| 500 | 0 | 3.1 | 300 | 25.0 % | void: it lagged | – | – | – |",
            ]
        );
    }
}
