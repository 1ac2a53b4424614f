//! The page: cost of a journey beside peers and plain requests.

use std::fmt::Write as _;

use anyhow::Result;

use super::client::JourneyClient;
use super::install::Installed;
use super::measurement::{JourneyRun, Tried};
use crate::context::BenchContext;
use crate::page::{BenchmarkPage, Head};
use crate::spread::Spread;

/// All runs of one client: `None` where one was not valid.
pub(super) struct JourneyOutcome {
    pub(super) client: JourneyClient,
    pub(super) runs: Vec<Option<JourneyRun>>,
}

/// The page under way.
pub(super) struct JourneysReport {
    page: BenchmarkPage,
    outcomes: Vec<JourneyOutcome>,
}

/// A requirement: the client, the client it is compared with, and the permitted share of its cost.
struct CostLimit {
    what: &'static str,
    client: JourneyClient,
    yardstick: JourneyClient,
    /// Share of the yardstick's cost, as it is asked for and as a number.
    limit: (&'static str, f64),
}

const COST_LIMITS: [CostLimit; 4] = [
    CostLimit {
        what: "the journey beside plain requests",
        client: JourneyClient::Journey,
        yardstick: JourneyClient::Plain,
        limit: ("1.6", 1.6),
    },
    CostLimit {
        what: "the journey without thinking beside a closed loop",
        client: JourneyClient::Unthinking,
        yardstick: JourneyClient::Closed,
        limit: ("1.6", 1.6),
    },
    CostLimit {
        what: "the journey beside k6",
        client: JourneyClient::Journey,
        yardstick: JourneyClient::K6,
        limit: ("1/6", 1.0 / 6.0),
    },
    CostLimit {
        what: "the journey beside Gatling",
        client: JourneyClient::Journey,
        yardstick: JourneyClient::Gatling,
        limit: ("1/4", 0.25),
    },
];

const RSS_MAX_MIB: f64 = 400.0;

const TERMS: &str = "CPU per request is user and system time of the client's process tree over the requests that the \
                     server counted: *warm* in the second half of the load, when what is compiled on the way has been \
                     (the peers are at their best there, and targets are held against it), *whole run* with start and \
                     end of the program. A run counts only if no request and no check failed, the client's count is \
                     the server's within 2 %, and other work kept at most a tenth of the cores busy.";

const JOURNEY: &str = "Each user asks for a form, takes the token out of it by a regular expression, thinks for \
                       50 to 150 ms, posts the form with the token, checks that the answer names it, and asks for three \
                       pages; cookies and connection stay with the user. Answers are 1 kB, from memory. Plain requests \
                       are as many connections that rest for 20 ms after each answer, a fifth of the journey's pause.";

const PROTOCOLS: &str = "The same journey of 500 users who think, through other doors of the same server. Each user has \
                         a connection of its own; handshakes are in the whole run.";

impl JourneysReport {
    pub(super) fn new(ground: &BenchContext, installed: &Installed) -> Result<Self> {
        let page = BenchmarkPage::new(
            ground,
            &Head {
                title: "Journeys beside their peers",
                task: "journeys",
                terms: TERMS,
                versions: &installed.versions(),
            },
        )?;
        Ok(Self::on(page))
    }

    fn on(page: BenchmarkPage) -> Self {
        let outcomes = JourneyClient::ALL.map(|client| JourneyOutcome {
            client,
            runs: Vec::new(),
        });
        Self {
            page,
            outcomes: outcomes.into(),
        }
    }

    /// Takes down one run.
    pub(super) fn tried(&mut self, round: u32, client: JourneyClient, tried: Tried) {
        self.page.command(&tried.command);
        if let Err(error) = &tried.run {
            let why = format!("round {round}: {error:#}");
            self.page.failure(client.name(), &why);
        } else if let Some(share) = tried.disturbed {
            let why = format!(
                "round {round}: other work kept {:.0} % of all cores busy",
                share * 100.0
            );
            self.page.failure(client.name(), &why);
        }
        if let Some(outcome) = self
            .outcomes
            .iter_mut()
            .find(|known| known.client == client)
        {
            outcome.runs.push(tried.run.ok());
        }
    }

    /// Whether the page may stand as the project's own.
    pub(super) fn is_valid(&self) -> bool {
        self.page.is_valid()
    }

    pub(super) fn finish(mut self) -> String {
        for asked in &COST_LIMITS {
            self.require(asked);
        }
        self.require_memory();
        let thinking = [
            JourneyClient::K6,
            JourneyClient::Gatling,
            JourneyClient::Journey,
            JourneyClient::Plain,
        ];
        let text = self.table(
            "500 users who think",
            Some(JOURNEY),
            &thinking,
            JourneyClient::Journey,
        );
        self.page.chapter(&text);
        let unthinking = [JourneyClient::Unthinking, JourneyClient::Closed];
        let text = self.table(
            "500 users who do not think",
            None,
            &unthinking,
            JourneyClient::Unthinking,
        );
        self.page.chapter(&text);
        let text = self.table(
            "Over HTTP/2 and TLS",
            Some(PROTOCOLS),
            &[
                JourneyClient::Journey,
                JourneyClient::Http2,
                JourneyClient::Tls,
                JourneyClient::Http2Tls,
            ],
            JourneyClient::Journey,
        );
        self.page.chapter(&text);
        let text = self.table(
            "10,000 users",
            None,
            &[JourneyClient::ManyUsers],
            JourneyClient::ManyUsers,
        );
        self.page.chapter(&text);
        self.page.finish()
    }

    fn require(&mut self, asked: &CostLimit) {
        let (limit, share) = asked.limit;
        let what = format!("{}: CPU at most {limit} of it", asked.what);
        match self.ratio(asked.client, asked.yardstick) {
            Some(ratio) => {
                let measured = format!("{} of it", ratio.show(3));
                self.page
                    .requirement(&what, &measured, Some(ratio.median <= share));
            }
            None => self.page.requirement(&what, "not measured", None),
        }
    }

    fn require_memory(&mut self) {
        let what =
            format!("10,000 users with cookies and captures: RSS below {RSS_MAX_MIB:.0} MiB");
        match self.spread(JourneyClient::ManyUsers, rss_mib) {
            Some(rss) => {
                let measured = format!("{:.0} MiB", rss.max);
                self.page
                    .requirement(&what, &measured, Some(rss.max < RSS_MAX_MIB));
            }
            None => self.page.requirement(&what, "not measured", None),
        }
    }

    fn table(
        &self,
        title: &str,
        terms: Option<&str>,
        clients: &[JourneyClient],
        yardstick: JourneyClient,
    ) -> String {
        let rows: Vec<_> = clients
            .iter()
            .filter_map(|client| self.table_row(*client, yardstick))
            .collect();
        let mut text = format!("## {title}\n\n");
        if let Some(terms) = terms {
            let _ = writeln!(text, "{terms}\n");
        }
        if rows.is_empty() {
            text.push_str("No valid run.\n\n");
            return text;
        }
        let _ = writeln!(
            text,
            "| client | CPU µs per request, warm | whole run | {} as a share of it | requests/s, warm | RSS MiB | server's \
             core busy |\n|---|---|---|---|---|---|---|",
            yardstick.name()
        );
        let _ = writeln!(text, "{}\n", rows.join("\n"));
        text
    }

    /// `None` for a client without a valid run.
    fn table_row(&self, client: JourneyClient, yardstick: JourneyClient) -> Option<String> {
        let ratio = if client == yardstick {
            None
        } else {
            self.ratio(yardstick, client)
        };
        Some(format!(
            "| {} | {} | {} | {} | {:.0} | {:.0} | {:.0} % |",
            client.name(),
            self.spread(client, |run| run.warm_us)?.show(1),
            self.spread(client, |run| run.whole_us)?.show(1),
            ratio.map_or("–".to_owned(), |ratio| ratio.show(3)),
            self.spread(client, |run| run.requests_per_second)?.median,
            self.spread(client, rss_mib)?.max,
            self.spread(client, |run| run.server_busy * 100.0)?.median,
        ))
    }

    fn runs(&self, client: JourneyClient) -> &[Option<JourneyRun>] {
        let outcome = self.outcomes.iter().find(|known| known.client == client);
        outcome.map_or(&[], |outcome| &outcome.runs)
    }

    fn spread(&self, client: JourneyClient, value: impl Fn(&JourneyRun) -> f64) -> Option<Spread> {
        Spread::of(self.runs(client).iter().flatten().map(value))
    }

    /// Of the warm costs in the same round: rounds differ more than clients do.
    fn ratio(&self, client: JourneyClient, yardstick: JourneyClient) -> Option<Spread> {
        let pairs = self.runs(client).iter().zip(self.runs(yardstick));
        Spread::of(
            pairs.filter_map(|(ours, theirs)| {
                Some(ours.as_ref()?.warm_us / theirs.as_ref()?.warm_us)
            }),
        )
    }
}

fn rss_mib(run: &JourneyRun) -> f64 {
    run.rss as f64 / 1_048_576.0
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    /// A paper with one run of each client; `None` for one that failed.
    fn paper(rounds: &[&[(JourneyClient, Option<f64>)]]) -> JourneysReport {
        let mut paper = JourneysReport::on(BenchmarkPage::blank());
        for (round, clients) in (1..).zip(rounds) {
            for (client, warm_us) in *clients {
                let run = warm_us.map(|warm_us| JourneyRun {
                    warm_us,
                    whole_us: 2.0 * warm_us,
                    requests_per_second: 1_000.0,
                    rss: 300 << 20,
                    server_busy: 0.5,
                });
                let tried = Tried {
                    command: format!("{} URL", client.name()),
                    disturbed: None,
                    run: run.ok_or_else(|| anyhow!("2 checks failed")),
                };
                paper.tried(round, *client, tried);
            }
        }
        paper
    }

    #[test]
    fn the_journey_is_held_against_each_peer_in_its_own_round() {
        let paper = paper(&[
            &[
                (JourneyClient::K6, Some(180.0)),
                (JourneyClient::Gatling, Some(60.0)),
                (JourneyClient::Journey, Some(20.0)),
                (JourneyClient::ManyUsers, Some(20.0)),
            ],
            &[
                (JourneyClient::K6, Some(400.0)),
                (JourneyClient::Gatling, None),
                (JourneyClient::Journey, Some(40.0)),
            ],
        ]);
        assert!(!paper.is_valid());
        let text = paper.finish();
        for row in [
            "| the journey beside k6: CPU at most 1/6 of it | 0.106 (0.100-0.111) of it | met |",
            "| the journey beside Gatling: CPU at most 1/4 of it | 0.333 (0.333-0.333) of it | **missed** |",
            "| the journey beside plain requests: CPU at most 1.6 of it | not measured | **open** |",
            "RSS below 400 MiB | 300 MiB | met |",
            "| k6 | 290.0 (180.0-400.0) | 580.0 (360.0-800.0) | 0.106 (0.100-0.111) | 1000 | 300 | 50 % |",
            "- Gatling: round 2: 2 checks failed\n",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
        assert!(text.contains("## Commands\n\n    k6 URL\n"), "{text}");
    }

    #[test]
    fn a_page_without_failures_is_valid() {
        assert!(paper(&[&[(JourneyClient::K6, Some(180.0))]]).is_valid());
    }
}
