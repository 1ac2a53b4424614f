//! Calls of what k6, its library modules and the language bring.

use std::rc::Rc;
use std::time::Duration;

use base64::Engine as _;

use super::machine::Machine;
use super::node::Node;
use super::number;
use super::text::{Hole, Text, quoted};
use super::value::{FilePart, Random, Value};
use crate::script::draft::ThinkDraft;

/// Calls that change nothing that a plan has.
const WITHOUT_EFFECT: [&str; 12] = [
    "console.log",
    "console.info",
    "console.warn",
    "console.error",
    "console.debug",
    "console.table",
    "clearTimeout",
    "clearInterval",
    "exec.vu.metrics.tags",
    "http.setDefaultHeaders",
    "Object.freeze",
    "exec.vu.setTag",
];

impl<'a> Machine<'a, '_> {
    /// Calls what k6 or the language brings.
    pub(super) fn call_native(
        &mut self,
        path: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        let undefined = Value::Undefined;
        let first = arguments.first().unwrap_or(&undefined);
        let second = arguments.get(1).unwrap_or(&undefined);
        if path == "Object.freeze" {
            return first.clone();
        }
        if WITHOUT_EFFECT.contains(&path)
            || path.starts_with("console.")
            || path.starts_with("metric.")
        {
            return Value::Undefined;
        }
        if let Some(rest) = path.strip_prefix("Math.") {
            return self.math(rest, arguments);
        }
        if let Some(method) = path.strip_prefix("http.") {
            return self.http(method, arguments, at);
        }
        match path {
            "k6.sleep" => self.sleep(first, at),
            "k6.group" => self.group(first, second, at),
            _ if path.starts_with("chai.") => return self.chai(path, arguments, at),
            "k6.check" | "utils.check" | "jslib.check" => {
                self.check(first, second, at);
                // A failed check ends the iteration of a plan.
                return Value::Bool(true);
            }
            "k6.fail" => self.lose(
                at,
                "fail()",
                "it is part of an expression",
                "write what must hold under `expect:`",
            ),
            "k6.randomSeed" => {}
            "open" | "fs.open" => return self.open_file(first, second, at),
            "ws.connect" => return self.connect(arguments, at),
            "setTimeout" | "setInterval" | "timers.setTimeout" | "timers.setInterval" => {
                self.timer(path.trim_start_matches("timers."), arguments, at);
            }
            "exec.test.abort" => self.lose(
                at,
                "exec.test.abort()",
                "a plan ends a run by a condition",
                "write `abort: [{ when: errors > 50% }]`",
            ),
            "require" => {
                let address = self.known_text(first).unwrap_or_default();
                return self.required(&address, at);
            }
            "jar.set" => self.set_cookie(arguments, at),
            "jar.clear" | "jar.delete" => self.jar.clear(),
            "jar.cookiesForURL" => return Value::unknown("the cookies of the jar"),
            "papaparse.parse" => return self.parse_csv(first, second, at),
            "papaparse.unparse" => return Value::unknown("papaparse.unparse"),
            "crypto.randomUUID" => return Value::hole(Hole::volatile("uuid()")),
            _ if path.starts_with("utils.") => return self.utility(path, arguments, at),
            _ if path.starts_with("encoding.") || path.starts_with("crypto.") => {
                return self.encoded(path, arguments, at);
            }
            _ => return self.language(path, arguments, at),
        }
        Value::Undefined
    }

    /// Functions of the module k6chaijs: its `describe()` is a group, its `expect()` is not followed.
    fn chai(&mut self, path: &str, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        match (path, arguments) {
            ("chai.describe", [name, function, ..]) => {
                self.group(name, function, at);
                Value::Bool(true)
            }
            ("chai.expect", _) => {
                self.lose(
                    at,
                    "expect() of k6chaijs",
                    "its chains of words are not followed",
                    "write it under `expect:` with status, contains, regex, json, header or within",
                );
                Value::native("chai.assertion")
            }
            _ => Value::native("chai.assertion"),
        }
    }

    fn group(&mut self, name: &Value<'a>, function: &Value<'a>, at: u32) {
        let name = self.text_of(name, at);
        let name = name.likely().unwrap_or_else(|| "group".to_owned());
        self.open();
        self.call(&function.clone(), &[], None, at);
        let steps = self.close();
        if !steps.is_empty() {
            self.groups.insert(name.clone());
            self.emit(Node::Group { name, steps });
        }
    }

    fn sleep(&mut self, time: &Value<'a>, at: u32) {
        let seconds = |number: f64| {
            Duration::try_from_secs_f64(number.clamp(0.0, 86_400.0)).unwrap_or_default()
        };
        let think = match time {
            Value::Random(Random { low, high, .. }) => {
                ThinkDraft::Uniform(seconds(*low), seconds(*high))
            }
            other => match self.number(other) {
                Some(number) if number <= 0.0 || number.is_nan() => return,
                Some(number) => {
                    if matches!(other, Value::Variable(..)) {
                        self.note("a pause from the environment has its default in the plan");
                    }
                    ThinkDraft::Fixed(seconds(number))
                }
                None => {
                    self.lose(
                        at,
                        "sleep()",
                        "its time is known only at run time",
                        "write `think:` with a time",
                    );
                    return;
                }
            },
        };
        self.emit(Node::Think(think));
    }

    fn math(&mut self, name: &str, arguments: &[Value<'a>]) -> Value<'a> {
        if name == "random" {
            return self.random(0.0, 1.0, false);
        }
        let numbers: Option<Vec<f64>> = arguments.iter().map(|value| self.number(value)).collect();
        let Some(numbers) = numbers else {
            return match (name, arguments.first()) {
                ("floor" | "trunc", Some(Value::Random(random))) => {
                    self.rounded(*random, f64::floor)
                }
                ("ceil", Some(Value::Random(random))) => {
                    let raised = Random {
                        low: random.low + 1.0,
                        high: random.high + 1.0,
                        ..*random
                    };
                    self.rounded(raised, f64::floor)
                }
                ("round", Some(Value::Random(random))) => {
                    let raised = Random {
                        low: random.low + 0.5,
                        high: random.high + 0.5,
                        ..*random
                    };
                    self.rounded(raised, f64::floor)
                }
                ("floor" | "trunc" | "ceil" | "round" | "abs", Some(value)) => value.clone(),
                _ => Value::unknown(format!(
                    "Math.{name} of values that are known only at run time"
                )),
            };
        };
        let candidate = numbers.first().copied().unwrap_or(f64::NAN);
        let two = numbers.get(1).copied().unwrap_or(f64::NAN);
        Value::Number(match name {
            "floor" => candidate.floor(),
            "ceil" => candidate.ceil(),
            "round" => (candidate + 0.5).floor(),
            "trunc" => candidate.trunc(),
            "abs" => candidate.abs(),
            "sqrt" => candidate.sqrt(),
            "log" => candidate.ln(),
            "log10" => candidate.log10(),
            "log2" => candidate.log2(),
            "exp" => candidate.exp(),
            "sin" => candidate.sin(),
            "cos" => candidate.cos(),
            "sign" => candidate.signum(),
            "pow" => candidate.powf(two),
            "max" => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            "min" => numbers.iter().copied().fold(f64::INFINITY, f64::min),
            _ => return Value::unknown(format!("Math.{name}")),
        })
    }

    /// Functions of the module k6-utils.
    fn utility(&mut self, path: &str, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let name = path.trim_start_matches("utils.");
        let number = |index: usize| arguments.get(index).and_then(|value| self.number(value));
        match name {
            "randomIntBetween" => match (number(0), number(1)) {
                (Some(low), Some(high)) => {
                    self.random(low.ceil(), high.floor().max(low.ceil()), true)
                }
                _ => Value::unknown("randomIntBetween with bounds that are known only at run time"),
            },
            "uuidv4" => Value::hole(Hole::volatile("uuid()")),
            "randomString" => {
                let len = number(0).and_then(number::index).unwrap_or(1).max(1);
                if let Some(set) = arguments.get(1).filter(|set| !set.is_nothing()) {
                    let set = self.known_text(set).unwrap_or_default();
                    self.lose(
                        at,
                        format!("the characters '{set}' of randomString()"),
                        "a plan takes letters and digits",
                        "write rows with such texts under `data:`",
                    );
                }
                Value::hole(Hole::volatile(format!("random_string({len})")))
            }
            "randomItem" => {
                let list = arguments.first().cloned().unwrap_or(Value::Undefined);
                self.random_item(&list, at)
            }
            "findBetween" => self.find_between(arguments),
            "normalDistributionStages" => {
                self.lose(
                    at,
                    "normalDistributionStages()",
                    "the plan has no such function",
                    "write the stages as `phases:`",
                );
                Value::unknown("normalDistributionStages")
            }
            _ => Value::unknown(format!("`{name}` of a module that is not known")),
        }
    }

    /// Any item of a list.
    pub(super) fn random_item(&mut self, list: &Value<'a>, at: u32) -> Value<'a> {
        match list {
            Value::List(items) if !items.items.borrow().is_empty() => {
                let top = number::of(items.items.borrow().len() - 1);
                let index = self.random(0.0, top, true);
                let span = oxc_span::Span::new(at, at + 10);
                self.item(list, &index, span)
            }
            Value::Answer(request, what) => match &**what {
                super::answer::Answer::Json(json) => self.drawn_item(*request, json),
                _ => Value::unknown("a random item of a value that is not a list"),
            },
            Value::List(_) => Value::Undefined,
            Value::Unknown(why) => Value::Unknown(Rc::clone(why)),
            _ => Value::unknown("a random item of what is known only at run time"),
        }
    }

    /// Encodings and digests.
    fn encoded(&mut self, path: &str, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let undefined = Value::Undefined;
        let value = arguments.first().unwrap_or(&undefined);
        let text = self.text_of(value, at);
        match path {
            "encoding.b64encode" => match text.constant() {
                Some(constant) => {
                    let kind = arguments.get(1).and_then(|kind| self.known_text(kind));
                    let engine = match kind.as_deref() {
                        Some("rawurl") => base64::engine::general_purpose::URL_SAFE_NO_PAD,
                        Some("url") => base64::engine::general_purpose::URL_SAFE,
                        Some("rawstd") => base64::engine::general_purpose::STANDARD_NO_PAD,
                        _ => base64::engine::general_purpose::STANDARD,
                    };
                    Value::text(engine.encode(constant))
                }
                None => self.wrapped("base64", value, at),
            },
            "encoding.b64decode" => match text.constant() {
                Some(constant) => {
                    let bytes = base64::engine::general_purpose::STANDARD.decode(constant.trim());
                    match bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
                        Some(text) => Value::text(text),
                        None => Value::unknown("bytes of b64decode that are not text"),
                    }
                }
                None => Value::unknown("b64decode of a value that is known only at run time"),
            },
            "crypto.sha256"
                if arguments
                    .get(1)
                    .and_then(|kind| self.known_text(kind))
                    .as_deref()
                    == Some("hex") =>
            {
                self.wrapped("sha256", value, at)
            }
            _ => {
                self.lose(
                    at,
                    format!("{path}()"),
                    "a plan has base64() and sha256() in hexadecimal",
                    "compute it beforehand and write the values as rows under `data:`",
                );
                Value::unknown(format!("{path}()"))
            }
        }
    }

    /// A new object of what k6 or the language brings.
    pub(super) fn new_native(&mut self, path: &str, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let undefined = Value::Undefined;
        let first = arguments.first().unwrap_or(&undefined);
        match path {
            "data.SharedArray" => self.shared_array(arguments, at),
            "Date" if arguments.is_empty() => Value::native("Date()"),
            "Date" => match first {
                Value::Text(text) if text.is_volatile() => Value::native("Date()"),
                _ => Value::unknown("a date that is computed"),
            },
            "Array" => self.list_of_length(first),
            "Map" | "Object" => Value::object(Vec::new()),
            "Set" => Value::list(first.items()),
            "Error" | "TypeError" => Value::text("error"),
            "RegExp" => match self.known_text(first) {
                Some(text) => Value::Regex(Rc::from(text)),
                None => Value::unknown("a regular expression that is known only at run time"),
            },
            "WebSocket" => self.new_socket(arguments, at),
            "url.URL" => self.new_address(arguments, at),
            "url.URLSearchParams" | "URLSearchParams" => self.new_parameters(first, at),
            "http.CookieJar" => Value::native("jar"),
            "formdata.FormData" => {
                self.lose(
                    at,
                    "FormData",
                    "the module is not followed",
                    "write the parts under `multipart:`",
                );
                Value::unknown("FormData")
            }
            _ if path.starts_with("metrics.") => {
                let name = self.known_text(first).unwrap_or_default();
                let kind = path.trim_start_matches("metrics.");
                self.lose(
                    at,
                    format!("the metric {kind} '{name}'"),
                    "a plan has no metrics of its own",
                    "read the table of steps and groups, or label steps",
                );
                Value::native("metric")
            }
            _ => {
                self.lose(
                    at,
                    format!("new {path}()"),
                    "a plan has no such object",
                    "write its steps into the plan, or record the script",
                );
                Value::unknown(format!("new {path}()"))
            }
        }
    }

    /// `http.file(content, name, type)`.
    pub(super) fn file_part(&mut self, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let undefined = Value::Undefined;
        let content = arguments.first().unwrap_or(&undefined);
        let path = match content {
            Value::File(file) => Some(file.path.clone()),
            _ => None,
        };
        let text = match &path {
            Some(_) => Text::default(),
            None => self.text_of(content, at),
        };
        let name = arguments.get(1).and_then(|name| self.known_text(name));
        let media_type = arguments.get(2).and_then(|kind| self.known_text(kind));
        Value::Part(Rc::new(FilePart {
            path,
            text,
            // k6 takes the time for a name; any does.
            name: name.unwrap_or_else(|| "file".to_owned()),
            media_type,
        }))
    }

    /// One of these texts at random, as a plan has it.
    pub(super) fn pick(items: &[Value<'a>]) -> Option<Value<'a>> {
        const ITEMS_MAX: usize = 200;
        if items.is_empty() || items.len() > ITEMS_MAX {
            return None;
        }
        let is_number = items.iter().all(|item| matches!(item, Value::Number(_)));
        let texts: Option<Vec<String>> = items
            .iter()
            .map(|item| match item {
                Value::Number(number) => Some(format!("'{}'", number::shown(*number))),
                other => quoted(other.as_str()?),
            })
            .collect();
        let hole = Hole::volatile(format!("pick({})", texts?.join(", ")));
        Some(Value::hole(if is_number { hole.number() } else { hole }))
    }
}
