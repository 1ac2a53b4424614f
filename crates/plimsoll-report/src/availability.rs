//! The availability of a service, of runs, logs and readings: as JSON and on the terminal.

use jiff::Timestamp;
use plimsoll_analysis::availability::{Availability, ErrorBudget, Incident};
use schemars::JsonSchema;
use serde::Serialize;

use crate::number::{count, percent, seconds, short, users};
use crate::pretty;
use crate::printable::printable;
use crate::text::Style;

/// Incidents that are shown on the terminal: the longest.
const INCIDENTS_SHOWN_MAX: usize = 10;

/// The output of `plimsoll report RUN…|LOG…|WATCHFILE… --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll report RUN…|LOG…|WATCHFILE… --json")]
pub struct AvailabilityReport {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// Names of the files.
    pub files: Vec<String>,
    /// Lines of logs that could not be read.
    pub unreadable: u64,
    /// The objective; null without one.
    pub objective: Option<String>,
    /// What users met.
    pub availability: AvailabilityObject,
}

/// How available a service was.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Availability")]
pub struct AvailabilityObject {
    /// (service − down) / service, 0 to 1.
    pub availability: f64,
    /// −log₁₀(1 − availability): 3 for 99.9 %; null when it was never down.
    pub nines: Option<f64>,
    /// Time with requests, or in which `watch` saw the service, seconds.
    pub service_s: i64,
    /// Of it down, seconds: at least half of the requests failed, or nothing listened.
    pub down_s: i64,
    /// Length of the slots that are judged, seconds.
    pub slot_s: i64,
    /// First moment that is known, RFC 3339.
    pub from: String,
    /// End of the last slot, RFC 3339.
    pub to: String,
    /// Stretches that were down, in order.
    pub incidents: Vec<IncidentObject>,
    /// Requests.
    pub requests: u64,
    /// Of these failed; a rightful 404 has not.
    pub failed: u64,
    /// Good answers later than the longest bound of the objective.
    pub late: u64,
    /// Share of requests that succeeded in time, 0 to 1; null where none was counted.
    pub reliability: Option<f64>,
    /// Share of the error budget that is left, negative when overspent; null without an objective.
    pub budget_left: Option<f64>,
    /// Bad requests over those that the objective allows; null without an objective.
    pub burn_rate: Option<f64>,
    /// The same in the worst hour.
    pub burn_rate_of_worst_hour: Option<f64>,
}

/// A stretch that was down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Incident")]
pub struct IncidentObject {
    /// Its beginning, RFC 3339.
    pub at: String,
    /// Its length, seconds.
    pub lasted_s: i64,
    /// Requests that failed in it.
    pub failed: u64,
    /// Users that met it; null where they are not known.
    pub users: Option<u64>,
}

impl AvailabilityObject {
    /// The object of what was counted.
    pub fn of(availability: &Availability) -> Self {
        let budget = |pick: fn(&ErrorBudget) -> f64| availability.budget.as_ref().map(pick);
        Self {
            availability: availability.share(),
            nines: availability.nines(),
            service_s: availability.service_s,
            down_s: availability.down_s,
            slot_s: availability.slot_s,
            from: moment(availability.from_s),
            to: moment(availability.until_s),
            incidents: availability.incidents.iter().map(incident).collect(),
            requests: availability.requests,
            failed: availability.failed,
            late: availability.late,
            reliability: availability.reliability(),
            budget_left: budget(|budget| budget.left),
            burn_rate: budget(|budget| budget.burn_rate),
            burn_rate_of_worst_hour: budget(|budget| budget.burn_rate_of_worst_hour),
        }
    }

    /// In a few lines for the terminal.
    pub fn lines(&self, colour: bool) -> String {
        let style = Style { colour };
        let nines = self.nines.map_or_else(
            || "never down".to_owned(),
            |nines| format!("{} nines, {} down", short(nines), time(self.down_s)),
        );
        let mut lines = vec![style.labelled(
            "available",
            &format!(
                "{} of {}: {nines}",
                fine_percent(self.availability),
                time(self.service_s)
            ),
        )];
        lines.push(style.labelled("reliable", &self.reliability_text()));
        lines.extend(self.budget_line(style));
        lines.extend(self.incident_lines(style));
        lines.join("\n") + "\n"
    }

    fn reliability_text(&self) -> String {
        match self.reliability {
            None => "not known: no file has requests".to_owned(),
            Some(reliability) => format!(
                "{} of {} requests succeeded in time; {} failed, {} late",
                fine_percent(reliability),
                count(self.requests),
                count(self.failed),
                count(self.late)
            ),
        }
    }

    fn budget_line(&self, style: Style) -> Option<String> {
        let (left, worst) = self.budget_left.zip(self.burn_rate_of_worst_hour)?;
        let text = if left < 0.0 {
            format!("overspent by {}", percent(-left))
        } else {
            format!("{} left", percent(left))
        };
        let rate = self.burn_rate.unwrap_or(0.0);
        let (rate, worst) = (short(rate), short(worst));
        let text = format!("{text}; burn rate {rate}, in the worst hour {worst}");
        Some(style.labelled("budget", &text))
    }

    fn incident_lines(&self, style: Style) -> Vec<String> {
        let mut longest: Vec<&IncidentObject> = self.incidents.iter().collect();
        longest.sort_by_key(|incident| std::cmp::Reverse(incident.lasted_s));
        let left_out = longest.len().saturating_sub(INCIDENTS_SHOWN_MAX);
        longest.truncate(INCIDENTS_SHOWN_MAX);
        longest.sort_by(|a, b| a.at.cmp(&b.at));
        let mut lines: Vec<String> = longest
            .into_iter()
            .enumerate()
            .map(|(index, incident)| {
                let label = if index == 0 { "incidents" } else { "" };
                let met = incident
                    .users
                    .map_or_else(String::new, |met| format!(", met by {}", users(met)));
                let failed = if incident.failed > 0 {
                    format!(", {} requests failed", count(incident.failed))
                } else {
                    String::new()
                };
                let text = format!(
                    "{}: down for {}{failed}{met}",
                    printable(&incident.at),
                    time(incident.lasted_s)
                );
                style.labelled(label, &text)
            })
            .collect();
        if left_out > 0 {
            lines.push(style.labelled("", &format!("… and {left_out} shorter ones, in --json")));
        }
        lines
    }
}

impl AvailabilityReport {
    /// Version of this object.
    pub const FORMAT_VERSION: &'static str = "1.0";

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }
}

/// The JSON schema of [`AvailabilityReport`].
pub fn schema() -> String {
    pretty::schema::<AvailabilityReport>()
}

fn incident(incident: &Incident) -> IncidentObject {
    IncidentObject {
        at: moment(incident.began_s),
        lasted_s: incident.lasted_s,
        failed: incident.failed,
        users: incident.users,
    }
}

fn moment(second: i64) -> String {
    Timestamp::from_second(second)
        .unwrap_or_default()
        .to_string()
}

fn time(length_s: i64) -> String {
    seconds(u64::try_from(length_s).unwrap_or(0))
}

/// A share near 1 with as many digits as it takes to tell it from 1: `99.98 %`.
fn fine_percent(share: f64) -> String {
    let missing = (1.0 - share) * 100.0;
    if missing <= 0.0 {
        return "100 %".to_owned();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few digits, at least one"
    )]
    let digits = (1.0 - missing.log10().floor()).clamp(1.0, 8.0) as usize;
    let text = format!("{:.digits$}", 100.0 - missing);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_near_one_keep_their_nines() {
        assert_eq!(fine_percent(1.0), "100 %");
        assert_eq!(fine_percent(0.999), "99.9 %");
        assert_eq!(fine_percent(0.5), "50 %");
        assert_eq!(fine_percent(0.999_95), "99.995 %");
    }
}
