//! The tables of the articles, for the terminal and for the page.

use std::fmt::Write as _;
use std::path::PathBuf;

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
pub(super) fn summary(sweeps: &[Sweep]) -> String {
    let mut text = "| | through | most good answers a second | at the highest rate | against alone | the study's most | \
                    the study's ratio |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for sweep in sweeps {
        let alone = sweeps
            .iter()
            .find(|other| other.body == sweep.body && other.way == ArticlesSetup::Alone)
            .and_then(Sweep::most);
        let ratio = match (sweep.way, sweep.most().zip(alone)) {
            (ArticlesSetup::Edge | ArticlesSetup::Cached, Some((most, alone))) => {
                format!("{:.1}x", most / alone)
            }
            _ => "–".to_owned(),
        };
        let (uncached, cached) = sweep.body.study();
        let (study, study_ratio) = match sweep.way {
            ArticlesSetup::Alone => (format!("{uncached}"), "–".to_owned()),
            ArticlesSetup::Edge => ("–".to_owned(), "–".to_owned()),
            ArticlesSetup::Cached => (format!("{cached}"), format!("{:.1}x", cached / uncached)),
        };
        writeln!(
            text,
            "| {} | {} | {} | {} | {ratio} | {study} | {study_ratio} |",
            sweep.body.title(),
            sweep.way.title(),
            whole(sweep.most()),
            whole(sweep.last()),
        )
        .expect("a string takes every character");
    }
    text
}

/// Every rate of one body, a line each.
fn table(body: ArticleBody, sweeps: &[Sweep]) -> String {
    let sweeps: Vec<&Sweep> = sweeps.iter().filter(|sweep| sweep.body == body).collect();
    let mut text = "| offered req/s |".to_owned();
    for sweep in &sweeps {
        write!(
            text,
            " {}: good/s | p50 ms | p95 ms | failed |",
            sweep.way.title()
        )
        .expect("a string takes every character");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|---|---|---|".repeat(sweeps.len()));
    text.push('\n');
    let rates = sweeps.iter().map(|sweep| sweep.samples.len()).max();
    for place in 0..rates.unwrap_or_default() {
        let samples: Vec<Option<&RateSample>> = sweeps
            .iter()
            .map(|sweep| sweep.samples.get(place))
            .collect();
        let offered = samples.iter().flatten().next();
        write!(text, "| {} |", whole(offered.map(|sample| sample.offered)))
            .expect("a string takes every character");
        for sample in samples {
            text.push_str(&cells(sample));
        }
        text.push('\n');
    }
    text
}

fn cells(sample: Option<&RateSample>) -> String {
    let Some(sample) = sample else {
        return " – | – | – | – |".to_owned();
    };
    if let Some(why) = &sample.void {
        return format!(" void: {} | – | – | – |", why.replace('|', "/"));
    }
    format!(
        " {} | {} | {} | {:.1} % |",
        whole(Some(sample.answered)),
        time(sample.p50_ms),
        time(sample.p95_ms),
        sample.failed * 100.0
    )
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.0}"))
}

fn time(ms: Option<f64>) -> String {
    match ms {
        None => "–".to_owned(),
        Some(ms) if ms < 10.0 => format!("{ms:.1}"),
        Some(ms) => format!("{ms:.0}"),
    }
}

/// All that the page says.
pub(super) struct ArticlesPage<'a> {
    pub(super) sweeps: &'a [Sweep],
    pub(super) date: &'a str,
    pub(super) machine: &'a str,
    pub(super) remarks: &'a [String],
    /// Files beside the page, one for each body.
    pub(super) drawings: [PathBuf; 2],
}

impl ArticlesPage<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "# The articles, swept\n\n\
             Written by `cargo xtask case articles` on {}. {}. The load has one core; the magazine, its database and the \
             edge share the other. [The case](../../cases/articles/README.md) tells what it is. Each rate is a run of \
             its own with a time-out of 5 s and 5 requests on a connection; the application is started anew after a rate \
             that it could not answer whole. Time counts from the moment a request was due, and only of good answers. \
             A rate at which the generator or the machine was at fault is called void and counts nowhere.\n\n\
             The study's server had a 300 MHz processor and kept rendered objects in its own memory; its figures are \
             what it answered at best. Only the ratios mean something elsewhere. In the study, useful output without a \
             cache fell to zero once the database was saturated: whoever is answered has given up. The edge without a \
             cache refuses at once those who would not be answered in time; they count as failed.\n\n{}",
            self.date,
            self.machine,
            summary(self.sweeps),
        );
        for (body, drawing) in ArticleBody::ALL.iter().zip(&self.drawings) {
            let name = drawing.file_name().unwrap_or_default().to_string_lossy();
            let title = body.title();
            write!(
                text,
                "\n## {}{}\n\n![{title}: good answers and response time against the offered rate]({name})\n\n{}",
                title[..1].to_uppercase(),
                &title[1..],
                table(*body, self.sweeps)
            )
            .expect("a string takes every character");
        }
        for remark in self.remarks {
            write!(text, "\n{remark}\n").expect("a string takes every character");
        }
        text
    }
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
        let summary = summary(&sweeps());
        let lines: Vec<&str> = summary.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| the short body, 933 bytes | the magazine alone | 80 | 0 | – | 48.2 | – |",
                "| the short body, 933 bytes | cached at the edge | 480 | – | 6.0x | 366.7 | 7.6x |",
            ]
        );
        let table = table(ArticleBody::Short, &sweeps());
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
