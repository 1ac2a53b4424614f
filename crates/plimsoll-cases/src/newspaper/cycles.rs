//! The study's cycles as a chain: each is a search that appends to one record of `plimsoll ledger`, and the table is what
//! that record says, beside the study.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::page::Table;
use serde_json::Value;

use super::measure::NewspaperMeter;
use super::stack::NewspaperStack;
use super::study::{Cycle, Study};

/// Cycles of the same name are a chain.
const NAME: &str = "newspaper";

/// Carries out all cycles; returns their table.
pub(super) fn measure(meter: &NewspaperMeter<'_>) -> Result<Table> {
    let cycles = Study::read(meter.case.workspace.root())?.cycles;
    let cores = u8::try_from(std::thread::available_parallelism()?.get()).unwrap_or(64);
    let record = new_record(meter)?;
    let file = record.display().to_string();
    for cycle in &cycles {
        meter.case.go_on()?;
        println!("== cycle {}: {}", cycle.number, cycle.act);
        let stack = NewspaperStack::start(meter.case, cycle.settings(cores))?;
        let edge = if cycle.edge {
            Some(stack.edge()?)
        } else {
            None
        };
        let url = edge.as_ref().unwrap_or(stack.site()).url();
        let more = ["--ledger", &file, "--change", &cycle.act];
        println!("{:?}", meter.line(&url, &stack, NAME, &more)?);
    }
    let mut command = Command::new(meter.case.plimsoll());
    command.args(["ledger", "--json", &file]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.context("cannot run plimsoll")?;
    ensure!(
        output.status.success(),
        "`plimsoll ledger {file}` ended with {}",
        output.status
    );
    let found: Value =
        serde_json::from_slice(&output.stdout).context("`plimsoll ledger` printed no JSON")?;
    Ok(table(&cycles, &found))
}

/// A record without cycles: those of earlier measurements are not part of this chain.
fn new_record(meter: &NewspaperMeter<'_>) -> Result<PathBuf> {
    let record = meter.case.store.join("cycles.jsonl");
    match std::fs::remove_file(&record) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", record.display()))
        }
        _ => Ok(record),
    }
}

/// The cycles of the record beside the study's.
fn table(cycles: &[Cycle], record: &Value) -> Table {
    let mut table = Table::new([
        "the study's cycle",
        "diagnose",
        "act",
        "evaluate: req/s carried",
        "gain",
        "the study's gain",
        "next limit",
    ]);
    for cycle in cycles {
        let entries = record["cycles"].as_array();
        let mut entries = entries.into_iter().flatten();
        // A search that was made once more is the last of its name; a void one is not in the record.
        let entry = entries.rfind(|entry| entry["change"] == cycle.act.as_str());
        let entry = entry.unwrap_or(&Value::Null);
        let carried = match entry["no_result"].as_str() {
            Some(reason) => format!("not known: {reason}"),
            None => level(&entry["after"], 1.0, 0.0, ""),
        };
        let study = cycle.gain.map(|gain| format!("+{gain} %"));
        table.row([
            &cycle.number.to_string(),
            entry["diagnosis"].as_str().unwrap_or("–"),
            &cycle.act,
            &carried,
            &level(&entry["gain"], 100.0, -100.0, " %"),
            study.as_deref().unwrap_or("–"),
            entry["next_limit"].as_str().unwrap_or("–"),
        ]);
    }
    table
}

/// A value with its interval, as `value * scale + shift`.
fn level(level: &Value, scale: f64, shift: f64, unit: &str) -> String {
    let number = |key: &str| Some(level[key].as_f64()? * scale + shift);
    let is_change = shift < 0.0;
    let shown = |value: f64| {
        if is_change {
            format!("{value:+.0}")
        } else {
            format!("{value:.0}")
        }
    };
    let Some(value) = number("value") else {
        return "–".to_owned();
    };
    let mut text = format!("{}{unit}", shown(value));
    if let (Some(low), Some(high)) = (number("low"), number("high")) {
        let _ = write!(text, " ({} to {})", shown(low), shown(high));
    }
    text
}

#[cfg(test)]
mod tests {
    use plimsoll_harness::workspace::Workspace;
    use serde_json::json;

    use super::*;

    #[test]
    fn cycles_of_the_record_stand_beside_the_study() {
        let cycles = Study::read(Workspace::find().unwrap().root())
            .unwrap()
            .cycles;
        let entry = |cycle: usize, no_result: Option<&str>, gain: Option<f64>| {
            let interval =
                |value: f64| json!({ "value": value, "low": value * 0.9, "high": value * 1.1 });
            json!({
                "change": cycles[cycle].act, "diagnosis": "CPU of the machine", "next_limit": null,
                "after": no_result.is_none().then(|| interval(100.0)), "no_result": no_result,
                "gain": gain.map(interval),
            })
        };
        let entries = [
            entry(0, None, None),
            entry(1, Some("too little time"), None),
            entry(1, None, Some(1.25)),
            entry(2, Some("the machine was busy"), None),
        ];
        let text = table(&cycles[..3], &json!({ "cycles": entries })).to_string();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert!(
            lines[0].ends_with("| 100 (90 to 110) | – | – | – |"),
            "{text}"
        );
        assert_eq!(
            lines[1],
            "| 2 | CPU of the machine | all cores instead of one | 100 (90 to 110) | +25 % (+12 to +38) | +25 % | – |"
        );
        assert!(
            lines[2].contains("| not known: the machine was busy | – | +65 % |"),
            "{text}"
        );
        let text = table(&cycles[3..4], &json!({ "cycles": entries })).to_string();
        assert!(
            text.contains("| – | two processes per core | – | – | +15 % | – |"),
            "{text}"
        );
    }
}
