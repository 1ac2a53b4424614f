//! The clients: how each is run, and how its output is parsed.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::install::Installed;
use super::plan::Variant;
use super::site::EntryPoint;

/// A client with its variant of the journey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JourneyClient {
    K6,
    Gatling,
    /// Ours, with the plan file.
    Journey,
    /// Ours without journeys: as many connections, each of which rests after an answer for a fifth of the journey's
    /// pause, so that both ask for the same number of requests.
    Plain,
    /// The journey without its pause.
    Unthinking,
    /// Ours without journeys and pauses.
    Closed,
    /// The journey over HTTP/2 without encryption.
    Http2,
    /// The journey over HTTP/1.1 and TLS.
    Tls,
    /// The journey over HTTP/2 and TLS.
    Http2Tls,
    /// The journey of ten thousand users.
    ManyUsers,
}

/// A client's own results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientSummary {
    pub(super) requests: u64,
    /// Requests without a good response, and failed checks.
    pub(super) failed: u64,
    /// It calls its measurement void.
    pub(super) is_void: bool,
}

impl JourneyClient {
    /// In the order of a round.
    pub(super) const ALL: [Self; 10] = [
        Self::K6,
        Self::Gatling,
        Self::Journey,
        Self::Plain,
        Self::Unthinking,
        Self::Closed,
        Self::Http2,
        Self::Tls,
        Self::Http2Tls,
        Self::ManyUsers,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::K6 => "k6",
            Self::Gatling => "Gatling",
            Self::Journey => "plimsoll, journey",
            Self::Plain => "plimsoll, plain requests",
            Self::Unthinking => "plimsoll, journey without thinking",
            Self::Closed => "plimsoll, plain requests in a closed loop",
            Self::Http2 => "plimsoll, journey over HTTP/2",
            Self::Tls => "plimsoll, journey over TLS",
            Self::Http2Tls => "plimsoll, journey over HTTP/2 and TLS",
            Self::ManyUsers => "plimsoll, journey of 10,000 users",
        }
    }

    /// Which of the site's doors it goes through.
    pub(super) fn entry_point(self) -> EntryPoint {
        match self {
            Self::Http2 => EntryPoint::Http2,
            Self::Tls | Self::Http2Tls => EntryPoint::Tls,
            _ => EntryPoint::Plain,
        }
    }

    /// The plan file it needs.
    pub(super) fn variant(self) -> Option<Variant> {
        match self {
            Self::Journey | Self::Http2 | Self::Tls | Self::Http2Tls => Some(Variant::Thinking),
            Self::Unthinking => Some(Variant::Unthinking),
            Self::ManyUsers => Some(Variant::ManyUsers),
            Self::K6 | Self::Gatling | Self::Plain | Self::Closed => None,
        }
    }

    /// Exit codes beside success that come with a result: ours has one for a void measurement.
    pub(super) fn accepted(self) -> &'static [i32] {
        match self {
            Self::K6 | Self::Gatling => &[],
            _ => &[6],
        }
    }

    /// The words of the command; `plan` is the path of the plan file.
    pub(super) fn words(
        self,
        installed: &Installed,
        url: &str,
        plan: &str,
        seconds: u32,
    ) -> Result<Vec<String>> {
        let ours = installed.plimsoll.display();
        let line = match self {
            Self::K6 => format!(
                "{} run --quiet --no-usage-report --address localhost:0 -e TARGET={url} -e SECONDS={seconds} {}",
                installed.k6.as_ref().context("is not installed")?.display(),
                installed.k6_script.display()
            ),
            // The options that Gatling's own plugin for Maven starts it with. The report is left out: it is made when
            // the load is over.
            Self::Gatling => format!(
                "java -server -Xmx1G -XX:+UseG1GC -XX:+ParallelRefProcEnabled -XX:MaxInlineLevel=20 \
                 -XX:MaxTrivialSize=12 --add-opens=java.base/java.lang=ALL-UNNAMED -Dtarget={url} -Dseconds={seconds} \
                 -cp {} io.gatling.app.Gatling --simulation JourneySimulation --results-folder results --no-reports",
                installed.gatling.as_ref().context("is not installed")?
            ),
            Self::Journey
            | Self::Unthinking
            | Self::ManyUsers
            | Self::Http2
            | Self::Tls
            | Self::Http2Tls => {
                let protocol_flags = match self {
                    Self::Http2 => " --http2-prior-knowledge",
                    Self::Tls => " --http1.1 --insecure",
                    Self::Http2Tls => " --http2 --insecure",
                    _ => "",
                };
                format!(
                    "{ours} run {plan} --target {url} --for {seconds}s --cores 1 --json{protocol_flags}"
                )
            }
            Self::Plain => format!(
                "{ours} run {url}/ships/1 --connections 500 --think 20ms --for {seconds}s --cores 1 --json"
            ),
            Self::Closed => {
                format!(
                    "{ours} run {url}/ships/1 --connections 500 --for {seconds}s --cores 1 --json"
                )
            }
        };
        Ok(line.split(' ').map(ToOwned::to_owned).collect())
    }

    /// Reads what the client printed.
    pub(super) fn parse_output(self, text: &str) -> Result<ClientSummary> {
        let summary = match self {
            Self::K6 => k6(text),
            Self::Gatling => gatling(text),
            _ => ours(text),
        };
        summary.with_context(|| {
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            format!(
                "cannot read what it printed last: {}",
                last.unwrap_or("nothing")
            )
        })
    }
}

fn ours(text: &str) -> Option<ClientSummary> {
    let json: Value = serde_json::from_str(text).ok()?;
    let outcomes = json["outcomes"].as_object()?;
    let requests: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    let good = outcomes.get("ok").and_then(Value::as_u64).unwrap_or(0);
    Some(ClientSummary {
        requests,
        failed: requests - good,
        is_void: json["void"].is_array(),
    })
}

/// The metrics of its summary; a rate counts its `true` as passes, and a failed request is a `true`.
fn k6(text: &str) -> Option<ClientSummary> {
    let json: Value = serde_json::from_str(text).ok()?;
    let count = |metric: &str, value: &str| json[metric]["values"][value].as_u64();
    Some(ClientSummary {
        requests: count("http_reqs", "count")?,
        failed: count("http_req_failed", "passes")? + count("checks", "fails")?,
        is_void: false,
    })
}

/// The last of the pictures it draws every few seconds: `> Global  | 12,345 | 12,340 | 5`: all, good, bad; a dash is
/// none.
fn gatling(text: &str) -> Option<ClientSummary> {
    let line = text
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_prefix("> Global"))?;
    let mut counts =
        line.split(['|', ' '])
            .filter(|word| !word.is_empty())
            .map(|word| match word {
                "-" => Some(0),
                number => number.replace(',', "").parse::<u64>().ok(),
            });
    let (requests, _, failed) = (counts.next()??, counts.next()??, counts.next()??);
    Some(ClientSummary {
        requests,
        failed,
        is_void: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(client: JourneyClient, text: &str, requests: u64, failed: u64) {
        let summary = client.parse_output(text).unwrap();
        assert_eq!(
            (summary.requests, summary.failed),
            (requests, failed),
            "{text}"
        );
    }

    #[test]
    fn reads_gatling() {
        let picture = |all: &str, good: &str, bad: &str| {
            format!(
                "---- Requests ------|---Total---|-----OK----|----KO----\n\
                 > Global            | {all:>9} | {good:>9} | {bad:>8}\n\
                 > GET /form         |         1 |         1 |        0\n\n"
            )
        };
        let text = picture("10", "10", "-") + &picture("9,364", "9,361", "3") + "Simulation done\n";
        check(JourneyClient::Gatling, &text, 9_364, 3);
        check(
            JourneyClient::Gatling,
            &picture("1,009,364", "1,009,364", "0"),
            1_009_364,
            0,
        );
        let error = JourneyClient::Gatling
            .parse_output("WARN no such class\n\n")
            .unwrap_err();
        assert!(error.to_string().ends_with("WARN no such class"), "{error}");
    }

    /// The metrics of k6 1.8's summary.
    #[test]
    fn reads_k6() {
        let text = r#"{ "http_reqs": { "type": "counter", "contains": "default", "values": { "count": 40000, "rate": 6719.5 } },
            "http_req_failed": { "type": "rate", "contains": "default", "values": { "rate": 0.0001, "passes": 4, "fails": 39996 } },
            "checks": { "type": "rate", "contains": "default", "values": { "rate": 0.9, "passes": 15997, "fails": 3 } } }"#;
        check(JourneyClient::K6, text, 40_000, 7);
        assert!(JourneyClient::K6.parse_output("{}").is_err());
    }

    #[test]
    fn reads_our_own() {
        let text = r#"{ "outcomes": { "ok": 90, "unexpected": 10 }, "void": null }"#;
        check(JourneyClient::Journey, text, 100, 10);
        assert!(!JourneyClient::ManyUsers.parse_output(text).unwrap().is_void);
        let text = text.replace("null", r#"["late"]"#);
        assert!(JourneyClient::Plain.parse_output(&text).unwrap().is_void);
    }
}
