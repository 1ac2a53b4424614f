//! `JUnit` for CI: one case for each bound of the objective and of each threshold and for each step with
//! expectations; for the gate; or for the search.
//!
//! A broken bound is a failure. A measurement that is void, undecided or truncated is an error: a build must
//! not turn green on it.

use std::io;

use plimsoll_model::outcome::Outcome;
use plimsoll_model::verdict::Verdict;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::answer;
use crate::number::{count, load, micros, percent};
use crate::printable::printable;
use crate::report::Report;

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseOutcome {
    Passed,
    Failed(String),
    Error(String),
}

/// One case.
pub(crate) struct TestCase {
    pub(crate) name: String,
    pub(crate) ended: CaseOutcome,
}

/// All cases of a file.
pub(crate) struct TestSuite {
    pub(crate) name: String,
    pub(crate) class: String,
    /// RFC 3339.
    pub(crate) started: String,
    pub(crate) seconds: u32,
    pub(crate) cases: Vec<TestCase>,
    /// The result in words.
    pub(crate) output: String,
}

/// The whole file.
pub fn render(report: &Report<'_>) -> String {
    let header = &report.run.header;
    let last = report.run.windows.last();
    TestSuite {
        name: format!("plimsoll {} {}", header.command, header.plan.name),
        class: header.plan.target.url.clone(),
        started: header.started_at.clone(),
        seconds: last.map_or(0, |window| window.second + 1),
        cases: cases(report),
        output: answer::sentence(report),
    }
    .render()
}

impl TestSuite {
    /// The whole file.
    pub(crate) fn render(&self) -> String {
        let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
        self.write(&mut writer)
            .expect("writing to memory does not fail");
        let mut text =
            String::from_utf8(writer.into_inner()).expect("all that was written is text");
        text.push('\n');
        text
    }

    fn count(&self, is: fn(&CaseOutcome) -> bool) -> String {
        let cases = self.cases.iter();
        cases.filter(|case| is(&case.ended)).count().to_string()
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
        let failures = self.count(|ended| matches!(ended, CaseOutcome::Failed(_)));
        let errors = self.count(|ended| matches!(ended, CaseOutcome::Error(_)));
        let seconds = self.seconds.to_string();
        let total = self.cases.len().to_string();
        let counts = [
            ("tests", &total),
            ("failures", &failures),
            ("errors", &errors),
            ("time", &seconds),
        ];
        let counts = counts.map(|(name, value)| (name, value.as_str()));
        let [name, class, started, output] =
            [&self.name, &self.class, &self.started, &self.output].map(|text| printable(text));
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let suites = writer.create_element("testsuites").with_attributes(counts);
        suites.write_inner_content(|writer| {
            let suite = writer
                .create_element("testsuite")
                .with_attribute(("name", name.as_str()));
            let suite = suite
                .with_attributes(counts)
                .with_attribute(("timestamp", started.as_str()));
            suite.write_inner_content(|writer| {
                self.cases
                    .iter()
                    .try_for_each(|case| write_case(writer, &class, case))?;
                let element = writer.create_element("system-out");
                element
                    .write_text_content(BytesText::new(&output))
                    .map(drop)
            })?;
            Ok(())
        })?;
        Ok(())
    }
}

fn write_case(writer: &mut Writer<Vec<u8>>, class: &str, case: &TestCase) -> io::Result<()> {
    let name = printable(&case.name);
    let element = writer.create_element("testcase");
    let element = element.with_attributes([("classname", class), ("name", name.as_str())]);
    let (kind, message) = match &case.ended {
        CaseOutcome::Passed => return element.write_empty().map(drop),
        CaseOutcome::Failed(message) => ("failure", message),
        CaseOutcome::Error(message) => ("error", message),
    };
    let message = printable(message);
    element.write_inner_content(|writer| {
        let result = writer
            .create_element(kind)
            .with_attribute(("message", message.as_str()));
        result
            .write_text_content(BytesText::new(&message))
            .map(drop)
    })?;
    Ok(())
}

fn cases(report: &Report<'_>) -> Vec<TestCase> {
    if let Some(gate) = &report.run.gate {
        let sentence = answer::sentence(report);
        let ended = match gate.accepted {
            Some(true) => CaseOutcome::Passed,
            Some(false) => CaseOutcome::Failed(sentence),
            None => CaseOutcome::Error(sentence),
        };
        let name = format!("carries at least {}", load(gate.rate, report.unit()));
        return vec![TestCase { name, ended }];
    }
    if report.is_search() {
        let ended = answer::reason(report).map_or(CaseOutcome::Passed, CaseOutcome::Error);
        let name = "has a load line".to_owned();
        return vec![TestCase { name, ended }];
    }
    let mut cases = vec![validity(report)];
    if cases[0].ended == CaseOutcome::Passed {
        cases.extend(bounds(report));
        cases.extend(early_end(report));
        cases.extend(thresholds(report));
        cases.extend(steps(report));
    }
    cases
}

/// Whether the run took its full time; no case for a plan without aborts.
fn early_end(report: &Report<'_>) -> Option<TestCase> {
    let scenario = report.run.header.plan.scenario.as_ref()?;
    if scenario.aborts.is_empty() {
        return None;
    }
    let name = "the run was not ended early".to_owned();
    let ended = report
        .ended_early()
        .map_or(CaseOutcome::Passed, CaseOutcome::Failed);
    Some(TestCase { name, ended })
}

fn thresholds(report: &Report<'_>) -> Vec<TestCase> {
    let cases = answer::bounds(report).into_iter().map(|bound| TestCase {
        ended: match bound.met {
            Some(true) => CaseOutcome::Passed,
            Some(false) => CaseOutcome::Failed(format!("{} instead", bound.measured)),
            None => CaseOutcome::Error(bound.measured),
        },
        name: bound.name,
    });
    cases.collect()
}

/// Each step with expectations: it fails when more responses than the objective's error limit are unexpected;
/// without an objective, when any is.
fn steps(report: &Report<'_>) -> Vec<TestCase> {
    let objective = report.run.header.plan.objective.as_ref();
    let allowed = objective
        .and_then(|objective| objective.errors_max)
        .unwrap_or(0.0);
    let steps = report
        .summary
        .breakdown
        .iter()
        .flat_map(|breakdown| &breakdown.steps);
    let cases = steps.filter(|step| step.expects).map(|step| {
        let unexpected = step.metrics.outcomes.get(Outcome::Expectation);
        let samples = count(step.metrics.samples);
        TestCase {
            name: format!("{}: {} answers as expected", step.journey, step.label),
            ended: match (step.metrics.samples, unexpected) {
                (0, _) => CaseOutcome::Error("no request ended".to_owned()),
                (all, unexpected) if unexpected as f64 <= allowed * all as f64 => {
                    CaseOutcome::Passed
                }
                (_, unexpected) => CaseOutcome::Failed(format!(
                    "{} of {samples} responses did not match the plan's expectations",
                    count(unexpected)
                )),
            },
        }
    });
    cases.collect()
}

/// Whether the measurement is valid.
fn validity(report: &Report<'_>) -> TestCase {
    let summary = &report.summary;
    let reasons: Vec<String> = summary.void.iter().map(ToString::to_string).collect();
    let ended = match summary.verdict {
        _ if !reasons.is_empty() => CaseOutcome::Error(reasons.join("; ")),
        None => CaseOutcome::Error("the run log is truncated".to_owned()),
        Some(_) if answer::measured_nothing(report) || answer::none_opened(report).is_some() => {
            CaseOutcome::Error(answer::sentence(report))
        }
        Some(Verdict::Unreachable) => CaseOutcome::Error("unreachable".to_owned()),
        Some(Verdict::Void) => CaseOutcome::Error("void".to_owned()),
        Some(Verdict::Interrupted) => CaseOutcome::Error("interrupted".to_owned()),
        Some(_) => CaseOutcome::Passed,
    };
    let name = "the measurement is valid".to_owned();
    TestCase { name, ended }
}

fn bounds(report: &Report<'_>) -> Vec<TestCase> {
    let undecided = report.lacks_requests().then(|| TestCase {
        name: report.objective().unwrap_or_default(),
        ended: CaseOutcome::Error("no request ended in the judged seconds".to_owned()),
    });
    let Some(objective) = &report.summary.objective else {
        return undecided.into_iter().collect();
    };
    let case = |name: String, holds: bool, measured: String| TestCase {
        ended: if holds {
            CaseOutcome::Passed
        } else {
            CaseOutcome::Failed(format!("{measured} instead of {name}"))
        },
        name,
    };
    let mut cases: Vec<TestCase> = objective
        .latency
        .iter()
        .map(|result| {
            let name = format!(
                "{} < {}",
                result.bound.quantile_name(),
                micros(result.bound.within_us)
            );
            let measured = result
                .measured_us
                .map_or_else(|| "the quantile falls on a failure".to_owned(), micros);
            case(name, result.holds, measured)
        })
        .collect();
    for result in &objective.broadcast {
        let name = format!(
            "broadcast {} < {}",
            result.bound.quantile_name(),
            micros(result.bound.within_us)
        );
        let measured = result.measured_us;
        let measured = measured.map_or_else(|| "no broadcast with a timestamp".to_owned(), micros);
        cases.push(case(name, result.holds, measured));
    }
    if let Some((min, reach, holds)) = objective.reach {
        let measured = reach.map_or_else(|| "no broadcast expected".to_owned(), percent);
        cases.push(case(format!("reach > {}", percent(min)), holds, measured));
    }
    if let Some((max, share, holds)) = objective.errors {
        cases.push(case(
            format!("errors < {}", percent(max)),
            holds,
            percent(share),
        ));
    }
    cases.extend(undecided);
    cases
}
