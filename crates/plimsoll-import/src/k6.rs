//! K6 scripts as plans.
//!
//! A script is parsed, not run: its functions are followed with values that are known when it is imported, and with
//! placeholders for those that are known only at run time. What cannot be followed is named as lost.

mod address;
mod answer;
mod batch;
mod body;
mod branch;
mod builtin;
mod call;
mod character;
mod comparison;
mod condition;
mod conversion;
mod csv;
mod expectation;
mod expression;
mod form;
mod http;
mod iteration;
mod language;
mod list;
mod load;
mod machine;
mod member;
mod method;
mod module;
mod native;
mod nesting;
mod node;
mod number;
mod operator;
mod options;
mod profile;
mod response;
mod rows;
mod scenario;
mod socket;
mod statement;
mod stringify;
mod switch;
mod text;
mod threshold;
mod url;
mod value;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use oxc_allocator::Allocator;

use crate::Imported;
use crate::script::draft::JourneyDraft;
use crate::script::{PlanDraft, Script, ScriptError, ScriptOptions};
use machine::Machine;
use scenario::Scenario;
use threshold::ThresholdScopes;
use value::Value;

/// Longest script, bytes.
const LEN_MAX: usize = 4 << 20;
/// Stack of the thread that parses: nested code is parsed by recursion. Only what is used takes memory.
const STACK_LEN: usize = 1 << 30;

/// The command that records what a script sends.
fn record_command() -> String {
    "record it: `plimsoll record URL --proxy 127.0.0.1:8899`, and beside it \
     `HTTP_PROXY=http://127.0.0.1:8899 k6 run --iterations 1 FILE`"
        .to_owned()
}

/// Makes a plan of k6 scripts.
///
/// # Errors
/// When nothing of it can be read.
pub fn import(script: &Script<'_>, options: &ScriptOptions) -> Result<Imported, ScriptError> {
    if script.text.len() > LEN_MAX {
        return Err(script.error(0, "the script is longer than 4 MiB", "import a part of it"));
    }
    let on_stack = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("k6 import".to_owned())
            .stack_size(STACK_LEN);
        let import = thread.spawn_scoped(scope, || followed(script, options));
        import.map(std::thread::ScopedJoinHandle::join)
    });
    match on_stack {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => Err(script.error(
            0,
            format!("cannot start a thread to parse it: {error}"),
            "try again with more memory",
        )),
    }
}

fn followed(script: &Script<'_>, options: &ScriptOptions) -> Result<Imported, ScriptError> {
    let allocator = Allocator::new();
    let mut machine = Machine::new(&allocator, script.files);
    let main = machine
        .read_module(script.name, script.text)
        .map_err(|error| {
            script.error(
                error.at,
                error.message,
                "check that the file is a script that `k6 run` accepts",
            )
        })?;
    machine.once = machine.close();
    machine.open();
    machine.is_init = false;
    let exports = machine.modules[main].exports.clone();
    let at = options_place(script.text);
    let script_options = exports.get("options").cloned().unwrap_or(Value::Undefined);
    machine.early_options(&script_options);
    let mut draft = PlanDraft {
        heading: format!("Made of the k6 script {}.", script.name),
        target: options.target.clone(),
        ..PlanDraft::default()
    };
    let data = machine.setup(exports.get("setup"));
    let mut scenarios = machine.scenarios(&script_options, at);
    scenarios.retain(|scenario| machine.has_function(&exports, scenario, at));
    machine.keep_one_kind(&mut scenarios, at);
    let journeys = machine.journeys(&exports, &mut scenarios, &data, at);
    let load = machine.load(&scenarios, at);
    draft.journeys = load.divided(journeys, Machine::resets_cookies(&script_options));
    draft.load = Some(load.load);
    let scopes = machine.scopes_of(&draft.journeys);
    machine.options(&script_options, &scopes, &mut draft, at);
    machine.teardown(&exports);
    draft.good = machine.good.take().map(|statuses| statuses.join(","));
    if let (None, true, Some(site)) = (
        &draft.target,
        machine.requests.is_empty(),
        machine.socket_site.take(),
    ) {
        let origin = machine.split_url(&site, at).url.origin;
        draft.target = (!origin.is_empty()).then(|| origin.as_str().to_owned());
    }
    draft.notes = std::mem::take(&mut machine.notes);
    draft.data = std::mem::take(&mut machine.data);
    draft.files = std::mem::take(&mut machine.data_files);
    finished(script, draft, machine)
}

/// The plan, with the losses of all files.
fn finished(
    script: &Script<'_>,
    draft: PlanDraft,
    machine: Machine<'_, '_>,
) -> Result<Imported, ScriptError> {
    let (losses, others) = Machine::imported_losses(machine.modules);
    let losses = losses.unwrap_or_else(|| crate::script::Losses::new(script.name, script.text));
    if draft.is_empty() {
        let first = losses.finish().into_iter().next();
        let message = first.map_or_else(
            || "no request was found in it".to_owned(),
            |loss| {
                format!(
                    "no request was found in it; lost: {}: {}",
                    loss.what, loss.why
                )
            },
        );
        return Err(script.error(0, message, record_command()));
    }
    let mut imported = script.plan(draft, losses)?;
    imported.losses.extend(others);
    Ok(imported)
}

/// Where the options are, for losses in them.
fn options_place(text: &str) -> u32 {
    let found = [
        "export const options",
        "export let options",
        "export var options",
        "options",
    ]
    .iter()
    .find_map(|words| text.find(words));
    u32::try_from(found.unwrap_or(0)).unwrap_or(0)
}

type Exports<'a> = std::collections::HashMap<&'a str, Value<'a>>;

impl<'a> Machine<'a, '_> {
    /// Follows `setup()`: its requests become steps that each user takes once.
    fn setup(&mut self, setup: Option<&Value<'a>>) -> Value<'a> {
        let Some(setup @ Value::Function(closure)) = setup else {
            return Value::Undefined;
        };
        let at = closure
            .parameters
            .map_or(0, |parameters| parameters.span.start);
        let data = self.call(setup, &[], None, at);
        let steps = self.close();
        self.open();
        if !steps.is_empty() {
            self.lose(
                at,
                "that setup() runs once for all users",
                "a plan has no steps of the whole test; each user takes them once, as `once`",
                "write what setup() makes as rows under `data:` if one for all is meant",
            );
            self.once.extend(steps);
        }
        data
    }

    fn teardown(&mut self, exports: &Exports<'a>) {
        for name in ["teardown", "handleSummary"] {
            let Some(Value::Function(closure)) = exports.get(name) else {
                continue;
            };
            let at = closure
                .parameters
                .map_or(0, |parameters| parameters.span.start);
            let (why, remedy) = if name == "teardown" {
                (
                    "a plan has no steps after the test",
                    "send its requests by another command after `plimsoll run`",
                )
            } else {
                (
                    "plimsoll writes its own reports",
                    "use `plimsoll report FILE`, or `--json` for a program",
                )
            };
            self.lose(at, format!("{name}()"), why, remedy);
        }
    }

    fn has_function(&mut self, exports: &Exports<'a>, scenario: &Scenario<'a>, at: u32) -> bool {
        if exports.contains_key(scenario.exec.as_str()) {
            return true;
        }
        self.lose(
            at,
            format!("the scenario {}", scenario.name),
            &format!("the script exports no function `{}`", scenario.exec),
            "export the function that `exec` names",
        );
        false
    }

    /// A journey for each scenario.
    fn journeys(
        &mut self,
        exports: &Exports<'a>,
        scenarios: &mut Vec<Scenario<'a>>,
        data: &Value<'a>,
        at: u32,
    ) -> Vec<JourneyDraft> {
        let shared = self.once.clone();
        let mut followed = Vec::new();
        for scenario in scenarios.iter() {
            self.once.clone_from(&shared);
            self.jar.clear();
            for (name, value) in &scenario.variables {
                let text = self.text_of(value, 0);
                let value = text.likely().unwrap_or_default();
                self.variables.insert(name.clone(), value);
            }
            self.open();
            if let Some(function) = exports.get(scenario.exec.as_str()) {
                self.call(function, std::slice::from_ref(data), None, 0);
            }
            self.write_sockets();
            let steps = self.close();
            for (name, _) in &scenario.variables {
                self.variables.remove(name);
            }
            followed.push((std::mem::take(&mut self.once), steps));
        }
        // What later scenarios use of responses is known only now.
        let (mut journeys, mut idle) = (Vec::new(), Vec::new());
        let all = std::mem::take(scenarios).into_iter().zip(followed);
        for (scenario, (once, steps)) in all {
            let steps = self.finished(&steps);
            if !steps.iter().any(|item| item.step.sends()) {
                idle.push(scenario);
                continue;
            }
            journeys.push(JourneyDraft {
                name: scenario.name.clone(),
                once: self.finished(&once),
                steps,
                ..JourneyDraft::default()
            });
            scenarios.push(scenario);
        }
        // Without any journey there is no plan, whose error tells why.
        for scenario in idle.iter().filter(|_| !journeys.is_empty()) {
            self.lose_idle(scenario, at);
        }
        journeys
    }

    fn lose_idle(&mut self, scenario: &Scenario<'a>, at: u32) {
        let at = self.place_of(&scenario.name, at);
        self.lose(
            at,
            format!("the scenario {}", scenario.name),
            "its function sends no request that a plan has",
            &record_command(),
        );
    }

    fn scopes_of(&self, journeys: &[JourneyDraft]) -> ThresholdScopes {
        let labels = self
            .requests
            .iter()
            .filter_map(|request| request.draft.label.clone());
        let names = journeys
            .iter()
            .filter(|_| journeys.len() > 1)
            .map(|journey| journey.name.clone());
        ThresholdScopes {
            labels: labels.collect(),
            groups: self.groups.iter().cloned().collect::<HashSet<_>>(),
            journeys: names.collect(),
            only: match journeys {
                [only] => Some(only.name.clone()),
                _ => None,
            },
        }
    }
}
