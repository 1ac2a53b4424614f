//! The page of a tuned case: the result beside the settings known by hand and the study, the table of users, and the way to it.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_harness::page::{ReportPage, Table, cell, percent, shown};

use super::found::{FoundSettings, HandComparison, LineInterval, RejectedSetting};
use super::search_course::SearchCourse;
use crate::tune_definition::{StudyUsers, TuneDefinition};

/// Importance below which a knob that was changed hardly matters.
const IMPORTANCE_MIN: f64 = 0.02;

/// What is known of a tuned case.
pub(super) struct TunePage<'a> {
    pub(super) definition: &'a TuneDefinition,
    pub(super) found: &'a FoundSettings,
    /// None where the settings known by hand are those that were found, or were not measured.
    pub(super) hand: Option<&'a HandComparison>,
    pub(super) course: &'a SearchCourse,
}

/// A command as the page shows it.
pub(super) fn command_of(words: &[String], folder: &Path) -> String {
    let folder = format!("{}/", folder.display());
    let words: Vec<String> = std::iter::once("plimsoll".to_owned())
        .chain(words.iter().cloned())
        .collect();
    shown(&words, &[(folder.as_str(), "")])
}

impl TunePage<'_> {
    pub(super) fn write(&self, page: &mut ReportPage) {
        page.paragraph(&self.course_text());
        self.write_requirements(page);
        page.chapter("What it found");
        page.paragraph(&self.answer());
        page.table(&self.lines());
        page.table(&self.settings());
        if let Some(limit) = &self.found.next_limit {
            page.paragraph(&format!("Next limit: {limit}."));
        }
        if !self.found.users.is_empty() {
            page.chapter("Users and settings");
            page.paragraph(
                "The smallest settings that were measured whose line is 15 % above the users, confirmed by a trial of that many.",
            );
            page.table(&self.users());
        }
        page.chapter("What was rejected");
        match self.rejected() {
            none if none.is_empty() => page.paragraph("Nothing."),
            rejected => page.table(&rejected),
        }
        page.chapter("What the search did on the way");
        page.paragraph(&self.way());
    }

    /// The result in a sentence, and why where that is another.
    fn answer(&self) -> String {
        let (answer, reason) = (&self.found.answer, &self.found.reason);
        if answer.contains(reason.as_str()) {
            answer.clone()
        } else {
            format!("{answer} {reason}")
        }
    }

    /// How long it took.
    fn course_text(&self) -> String {
        let found = self.found;
        let trials = found.trials;
        let state = match found.state.as_str() {
            "complete" => String::new(),
            "budget_spent" => " Its time was over before all that it wanted to try.".to_owned(),
            other => format!(" **The search is not complete: {other}.**"),
        };
        format!(
            "{} trials in {:.1} minutes: {} measured, {} failed, {} void; seed {}.{state}",
            trials.total,
            self.minutes(),
            trials.measured,
            trials.failed,
            trials.void,
            found.seed,
        )
    }

    fn minutes(&self) -> f64 {
        self.found.seconds / 60.0
    }

    fn write_requirements(&self, page: &mut ReportPage) {
        let definition = self.definition;
        if let Some(least) = definition.share_min {
            let share = self.share_of_hand();
            page.requirement(
                &format!(
                    "at least {:.0} % of the line of the settings known by hand",
                    least * 100.0
                ),
                share.map(|share| interval(share, percent)).as_deref(),
                share.map(|share| share.value >= least),
            );
        }
        if definition.keeps_default {
            let kept = if self.found.adopt { "changed" } else { "kept" };
            page.requirement(
                "the settings stay as they are",
                Some(kept),
                Some(!self.found.adopt),
            );
        }
        page.requirement(
            &format!(
                "at most {:.0} minutes, without a hint",
                definition.minutes_max
            ),
            Some(&format!("{:.0} minutes", self.minutes())),
            Some(self.minutes() <= definition.minutes_max),
        );
    }

    /// The line of what was found as a share of that known by hand: 1 where both are the same settings.
    fn share_of_hand(&self) -> Option<LineInterval> {
        let by_hand = &self.definition.by_hand;
        let same = (!by_hand.is_empty() && self.found.differing(by_hand).is_empty()).then_some(
            LineInterval {
                value: 1.0,
                ends: None,
            },
        );
        self.hand.map(|hand| hand.share).or(same)
    }

    /// Load lines of the settings at the start, of those that were found, and of those known by hand.
    fn lines(&self) -> Table {
        let found = self.found;
        let unit = &found.load_unit;
        let mut table = Table::new([
            "settings",
            unit,
            "95 % interval",
            "times the start",
            "the study's",
        ]);
        let none = || "–".to_owned();
        let study = self.definition.study_gain;
        table.row([
            "at the start".to_owned(),
            cell(found.baseline, 0),
            none(),
            none(),
            none(),
        ]);
        if let Some(best) = &found.best {
            let gain = LineInterval {
                value: 1.0 + best.gain,
                ends: best
                    .gain_low
                    .zip(best.gain_high)
                    .map(|(low, high)| (1.0 + low, 1.0 + high)),
            };
            let ends = best.low.zip(best.high);
            table.row([
                format!("{}, {} pairs", self.best_title(), best.pairs),
                format!("{:.0}", best.line),
                ends.map_or_else(none, |(low, high)| format!("{low:.0} to {high:.0}")),
                interval(gain, |value| format!("{value:.2}")),
                study.map_or_else(none, |gain| format!("{gain}")),
            ]);
        }
        if let Some(hand) = self.hand {
            let found_title = if found.adopt {
                "found, in turn with the next"
            } else {
                "at the start, in turn with the next"
            };
            for (title, line) in [(found_title, hand.tuned), ("known by hand", hand.by_hand)] {
                let ends = line.ends;
                table.row([
                    title.to_owned(),
                    format!("{:.0}", line.value),
                    ends.map_or_else(none, |(low, high)| format!("{low:.0} to {high:.0}")),
                    found
                        .searched_start()
                        .filter(|start| *start > 0.0)
                        .map_or_else(none, |start| format!("{:.2}", line.value / start)),
                    none(),
                ]);
            }
        }
        table
    }

    fn best_title(&self) -> &'static str {
        if self.found.adopt {
            "found"
        } else {
            "best that was tried, not adopted"
        }
    }

    /// The knobs, with what is known of each.
    fn settings(&self) -> Table {
        let definition = self.definition;
        let has_hand = !definition.by_hand.is_empty();
        let has_study = !definition.study.is_empty();
        let mut head = vec!["knob", "at the start", "found", "importance"];
        head.extend(has_hand.then_some("by hand"));
        head.extend(has_study.then_some("the study's"));
        let mut table = Table::new(head);
        let of = |map: &BTreeMap<String, String>, knob: &str| {
            map.get(knob).cloned().unwrap_or_else(|| "–".to_owned())
        };
        for (name, knob) in &self.found.settings {
            let mut row = vec![
                format!("`{name}`"),
                knob.from.clone(),
                self.found_level(name, &knob.to),
                percent(knob.importance),
            ];
            row.extend(has_hand.then(|| of(&definition.by_hand, name)));
            row.extend(has_study.then(|| of(&definition.study, name)));
            table.row(row);
        }
        table
    }

    /// A level, and what that is for each CPU where that is wanted.
    fn found_level(&self, knob: &str, level: &str) -> String {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let number = level.parse::<f64>().ok();
        match number.filter(|_| self.definition.per_core.iter().any(|name| name == knob)) {
            Some(number) => format!("{level} ({:.1} per core)", number / cpus as f64),
            None => level.to_owned(),
        }
    }

    fn users(&self) -> Table {
        let no_study = StudyUsers::default();
        let study = self.definition.study_users.as_ref().unwrap_or(&no_study);
        let knobs: Vec<&String> = self.found.settings.keys().collect();
        let names = knobs.iter().map(|knob| format!("`{knob}`"));
        let head = std::iter::once("users".to_owned()).chain(names);
        let head = head
            .chain(["line".to_owned()])
            .chain(study.columns.iter().cloned());
        let mut table = Table::new(head);
        for row in &self.found.users {
            let levels = |knob: &&String| {
                let settings = row.settings.as_ref();
                settings
                    .and_then(|settings| settings.get(*knob).cloned())
                    .unwrap_or_default()
            };
            let mut cells = vec![row.users.to_string()];
            cells.extend(knobs.iter().map(levels));
            cells.push(match row.result.as_str() {
                "confirmed" => cell(row.line, 0),
                "not_reachable" => "not reachable here".to_owned(),
                "not_confirmed" => "not confirmed".to_owned(),
                other => other.to_owned(),
            });
            let known = study.rows.get(&row.users.to_string());
            let known = |column: usize| known.and_then(|cells| cells.get(column)).cloned();
            cells.extend((0..study.columns.len()).map(|it| known(it).unwrap_or_default()));
            table.row(cells);
        }
        table
    }

    fn rejected(&self) -> Table {
        let mut table = Table::new(["settings", "why", "of the line at the start", "detail"]);
        for rejected in &self.found.rejected {
            let RejectedSetting {
                settings,
                why,
                detail,
                ratio,
            } = rejected;
            let settings = settings
                .iter()
                .map(|(knob, level)| format!("{knob} {level}"));
            table.row([
                settings.collect::<Vec<_>>().join(", "),
                why.replace('_', " "),
                ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
                detail.clone().unwrap_or_default(),
            ]);
        }
        table
    }

    /// What the log says, changes that hardly matter, and what went back.
    fn way(&self) -> String {
        let mut sentences = self.course.sentences();
        let knobs = self.found.settings.iter();
        let idle: Vec<String> = knobs
            .filter(|(_, knob)| knob.from != knob.to && knob.importance < IMPORTANCE_MIN)
            .map(|(name, knob)| format!("`{name}` to {}", knob.to))
            .collect();
        if !idle.is_empty() {
            let idle = idle.join(", ");
            sentences.push(format!("It changed what hardly matters: {idle}."));
        }
        for reverted in &self.found.reverted {
            let cost = percent(reverted.cost);
            let knob = &reverted.knob;
            sentences.push(match reverted.together {
                0 | 1 => format!("`{knob}` went back, which costs {cost}."),
                together => format!("`{knob}` went back: {together} together cost {cost}."),
            });
        }
        let items = sentences.iter().map(|sentence| format!("- {sentence}"));
        items.collect::<Vec<_>>().join("\n")
    }
}

/// A value with its interval, as text.
fn interval(value: LineInterval, text: impl Fn(f64) -> String) -> String {
    let middle = text(value.value);
    match value.ends {
        Some((low, high)) => format!("{middle} ({} to {})", text(low), text(high)),
        None => middle,
    }
}
