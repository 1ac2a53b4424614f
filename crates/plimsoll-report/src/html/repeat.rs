//! The command that repeats a measurement.

use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::schedule::Spacing;
use plimsoll_model::trial::TrialKind;
use plimsoll_model::websocket::WebSocketLoad;

use crate::printable::printable;
use crate::report::Report;

/// The command line, from the plan. Secrets were removed from the plan before it was stored, so headers and
/// bodies are not included.
pub(super) fn command(report: &Report<'_>) -> String {
    let plan = &report.run.header.plan;
    if plan.scenario.is_some() {
        // The plan file contains everything but the seed; the log does not have its path.
        let command = &report.run.header.command;
        let demand = plan.required.as_ref().map(|required| &required.sentence);
        let demand = demand.map_or_else(String::new, |text| {
            format!(" --for {}", quote(&printable(text)))
        });
        return format!(
            "plimsoll {command} PLAN.yaml{demand} --seed {}",
            plan.seed.0
        );
    }
    let mut words = vec![
        "plimsoll".to_owned(),
        report.run.header.command.clone(),
        plan.target.url.clone(),
    ];
    if report.is_search() {
        search_words(report, &mut words);
    } else {
        load_words(&plan.load, &mut words);
    }
    if let Some(objective) = report.objective() {
        words.extend(["--objective".to_owned(), objective]);
    }
    transport_words(plan, &mut words);
    words.extend(["--seed".to_owned(), plan.seed.0.to_string()]);
    let quoted: Vec<String> = words.iter().map(|word| quote(&printable(word))).collect();
    quoted.join(" ")
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
    fn a_word_cannot_leave_its_quotes() {
        assert_eq!(quote("http://a/b?c=d&e"), "'http://a/b?c=d&e'");
        assert_eq!(quote("'; rm -rf /; '"), r"''\''; rm -rf /; '\'''");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("100/s"), "100/s");
    }
}
