//! The command that repeats a measurement.

use plimsoll_model::patience::PatienceBand;
use plimsoll_model::plan::{CLASSES_MS_DEFAULT, Load, PathOrder, Plan};
use plimsoll_model::schedule::Spacing;
use plimsoll_model::trial::TrialKind;
use plimsoll_model::websocket::WebSocketLoad;

use crate::printable::printable;
use crate::report::Report;

/// The command line, from the plan. Secrets were removed from the plan before it was stored, so headers and
/// bodies are not included.
pub(super) fn command(report: &Report<'_>) -> String {
    let plan = &report.run.header.plan;
    let mut words = vec!["plimsoll".to_owned(), report.run.header.command.clone()];
    if plan.scenario.is_some() {
        // The plan file contains everything but the seed and what flags changed; the log does not have its path.
        words.push("PLAN.yaml".to_owned());
        if let Some(required) = &plan.required {
            words.extend(["--for".to_owned(), required.sentence.clone()]);
        }
    } else {
        words.push(plan.target.url.clone());
        request_words(plan, &mut words);
        if report.is_search() {
            search_words(report, &mut words);
        } else {
            load_words(&plan.load, &mut words);
        }
        if let Some(objective) = report.objective() {
            words.extend(["--objective".to_owned(), objective]);
        }
        transport_words(plan, &mut words);
    }
    band_words(plan, &mut words);
    words.extend(["--seed".to_owned(), plan.seed.0.to_string()]);
    let quoted: Vec<String> = words.iter().map(|word| quote(&printable(word))).collect();
    quoted.join(" ")
}

/// Codings that are accepted; the file of URLs, whose name the log does not have, and their order.
fn request_words(plan: &Plan, words: &mut Vec<String>) {
    let mut headers = plan.request.headers.iter();
    if headers.any(|(name, value)| name == "Accept-Encoding" && value == "gzip, br") {
        words.push("--compressed".to_owned());
    }
    if plan.request.paths.len() < 2 {
        return;
    }
    words.extend(["--urls", "URLS.txt"].map(str::to_owned));
    let order = match plan.request.order {
        PathOrder::Circular => return,
        PathOrder::Random => "random".to_owned(),
        PathOrder::Zipf(exponent) => format!("zipf:{}", exponent.value()),
        PathOrder::Latest(exponent) => format!("latest:{}", exponent.value()),
    };
    words.extend(["--urls-order".to_owned(), order]);
}

/// How the report divides response times. Names of bands that only a plan file can have are in that file.
fn band_words(plan: &Plan, words: &mut Vec<String>) {
    let [fast, slow] = plan.classes_ms;
    if plan.classes_ms != CLASSES_MS_DEFAULT {
        words.extend(["--classes".to_owned(), format!("{fast}ms,{slow}ms")]);
    }
    let is_flag = |band: &PatienceBand| {
        !band.name.contains([',', '=']) && band.name.trim().len() == band.name.len()
    };
    if !plan.patience.is_empty() && plan.patience.iter().all(is_flag) {
        let bands = plan.patience.iter().map(|band| {
            let us = band.within_us;
            if us.is_multiple_of(1000) {
                format!("{}={}ms", band.name, us / 1000)
            } else {
                format!("{}={us}us", band.name)
            }
        });
        let bands: Vec<String> = bands.collect();
        words.extend(["--patience".to_owned(), bands.join(",")]);
    }
}

fn search_words(report: &Report<'_>, words: &mut Vec<String>) {
    if let Some(gate) = &report.run.gate {
        words.extend(["--at-least".to_owned(), format!("{}/s", gate.rate)]);
    }
    if let Some(required) = &report.run.header.plan.required {
        words.extend(["--for".to_owned(), required.sentence.clone()]);
    }
    // The judged time of a trial shows how thorough the search was.
    let refined = report
        .run
        .trials_started
        .iter()
        .find(|started| started.2.kind == TrialKind::Refine);
    match refined.map(|started| started.2.measure_s) {
        Some(seconds) if seconds < 15 => words.push("--quick".to_owned()),
        Some(seconds) if seconds >= 60 => words.push("--thorough".to_owned()),
        _ => {}
    }
}

fn load_words(load: &Load, words: &mut Vec<String>) {
    match load {
        Load::Open { phases, spacing } => {
            for phase in phases {
                let lasting = format!("{}ms", phase.lasting_ns / 1_000_000);
                if let [only] = phases.as_slice()
                    && (only.from - only.to).abs() < f64::EPSILON
                {
                    words.extend([
                        "--rate".to_owned(),
                        format!("{}/s", only.from),
                        "--for".to_owned(),
                        lasting,
                    ]);
                } else {
                    words.extend([
                        "--phase".to_owned(),
                        format!("{}/s..{}/s:{lasting}", phase.from, phase.to),
                    ]);
                }
            }
            if *spacing == Spacing::Even {
                words.extend(["--spacing".to_owned(), "even".to_owned()]);
            }
        }
        Load::Closed {
            connections,
            think,
            lasting,
        } => {
            words.extend(["--connections".to_owned(), connections.to_string()]);
            if !think.is_zero() {
                words.extend(["--think".to_owned(), format!("{}ms", think.as_millis())]);
            }
            words.extend(["--for".to_owned(), format!("{}ms", lasting.as_millis())]);
        }
        Load::WebSockets(load) => websocket_words(load, words),
        // A plan file contains everything.
        Load::Users { .. } | Load::Sessions { .. } => {}
    }
}

fn websocket_words(load: &WebSocketLoad, words: &mut Vec<String>) {
    let kind = if load.is_stream { "--sse" } else { "--ws" };
    words.extend([kind.to_owned(), "--connections".to_owned()]);
    words.push(load.connections.to_string());
    words.extend([
        "--connect-rate".to_owned(),
        format!("{}/s", load.per_second),
    ]);
    words.extend(["--hold".to_owned(), format!("{}ms", load.hold.as_millis())]);
    if load.reconnect.is_some() {
        words.push("--ws-reconnect".to_owned());
    }
    if load.compress {
        words.push("--ws-compress".to_owned());
    }
    if let Some(message) = &load.message {
        words.extend(["--send".to_owned(), message.text.clone()]);
        if let Some(every) = message.every {
            words.extend(["--every".to_owned(), format!("{}ms", every.as_millis())]);
        }
    }
    for (flag, path) in [
        ("--broadcast-stamp", &load.timestamp),
        ("--broadcast-seq", &load.sequence),
    ] {
        if let Some(path) = path {
            words.extend([flag.to_owned(), path.clone()]);
        }
    }
}

fn transport_words(plan: &Plan, words: &mut Vec<String>) {
    words.extend([
        "--timeout".to_owned(),
        format!("{}ms", plan.transport.timeout.as_millis()),
    ]);
    match plan.transport.requests_per_connection {
        0 => {}
        1 => words.push("--no-keepalive".to_owned()),
        number => words.extend(["--requests-per-connection".to_owned(), number.to_string()]),
    }
    if plan.cores != 1 {
        words.extend(["--cores".to_owned(), plan.cores.to_string()]);
    }
    if !plan.warmup.is_zero() {
        words.extend([
            "--warmup".to_owned(),
            format!("{}ms", plan.warmup.as_millis()),
        ]);
    }
    if let Some(http2) = plan.transport.http2 {
        let how = if http2.prior_knowledge {
            "--http2-prior-knowledge"
        } else {
            "--http2"
        };
        words.extend([how, "--streams"].map(str::to_owned));
        words.push(http2.streams.to_string());
    }
    if plan.transport.insecure {
        words.push("--insecure".to_owned());
    }
}

/// A POSIX shell word that is taken literally.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_divides_response_times_is_repeated() {
        let mut plan = plimsoll_testkit::plan::get_root(([127, 0, 0, 1], 80).into());
        let of = |plan: &Plan| {
            let mut words = Vec::new();
            request_words(plan, &mut words);
            band_words(plan, &mut words);
            words.join(" ")
        };
        assert_eq!(of(&plan), "");
        plan.classes_ms = [100, 2000];
        plan.patience = [("at once", 1500), ("soon", 2_000_000)].map(band).into();
        plan.request.paths = vec!["/a".to_owned(), "/b".to_owned()];
        plan.request.order = PathOrder::Random;
        let accepted = ("Accept-Encoding".to_owned(), "gzip, br".to_owned());
        plan.request.headers.push(accepted);
        assert_eq!(
            of(&plan),
            "--compressed --urls URLS.txt --urls-order random --classes 100ms,2000ms --patience at once=1500us,soon=2000ms"
        );
        plan.patience.push(band(("a,b", 3_000_000)));
        assert!(!of(&plan).contains("patience"), "no flag has such a name");
    }

    fn band((name, within_us): (&str, u64)) -> PatienceBand {
        PatienceBand {
            name: name.to_owned(),
            within_us,
        }
    }

    #[test]
    fn a_word_cannot_leave_its_quotes() {
        assert_eq!(quote("http://a/b?c=d&e"), "'http://a/b?c=d&e'");
        assert_eq!(quote("'; rm -rf /; '"), r"''\''; rm -rf /; '\'''");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("100/s"), "100/s");
    }
}
