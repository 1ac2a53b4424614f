//! JMeter's functions as functions of plans.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;

use super::context::Import;
use super::properties::{USER_PROPERTIES, properties};
use super::value::{Value, quoted};
use super::variables::environment_name;
use crate::{DataFile, FileContent, heuristics};

/// Most characters that a random text of given ones may have.
const PICKS_MAX: usize = 16;

impl Import<'_> {
    /// The value of `${__name(arguments)}`.
    pub(super) fn call(&mut self, name: &str, arguments: &[String], at: usize) -> Value {
        let found = self
            .property(name, arguments, at)
            .or_else(|| self.changing(name, arguments, at))
            .or_else(|| self.computed(name, arguments, at))
            .or_else(|| self.scripted_value(name, arguments, at));
        found.unwrap_or_else(|| self.lost_function(name, arguments, at))
    }

    fn lost_function(&mut self, name: &str, arguments: &[String], at: usize) -> Value {
        let what = format!("function ${{__{name}({})}}", arguments.join(","));
        let variable = environment_name(&format!("jmeter_{name}"));
        let remedy = format!(
            "set {variable} in the environment, or write a function of templates in its place"
        );
        self.lose_text(at, &what, "a plan has no such function", &remedy);
        Value::environment(variable, None)
    }

    /// The properties of a file that is given, else of `user.properties` beside the script.
    pub(super) fn read_properties(&mut self, given: Option<&(String, String)>) {
        let (name, text) = match given {
            Some((name, text)) => (name.clone(), text.clone()),
            None => match self.script.files.text(USER_PROPERTIES) {
                Ok(text) => (USER_PROPERTIES.to_owned(), text),
                Err(_) => return,
            },
        };
        self.properties = properties(&text);
        self.note(format!(
            "properties of JMeter have the values of {name} as defaults"
        ));
    }

    /// The value of a property: the environment's, else that of the file, else the default.
    fn property_value(&mut self, property: &str, default: String) -> Value {
        let written = self.properties.get(property).cloned();
        let is_secret = heuristics::names_password(property) || heuristics::names_secret(property);
        if written.is_some() && is_secret {
            return self.secret(property);
        }
        let variable = environment_name(property);
        self.note(format!(
            "the property `{property}` is the environment variable {variable}"
        ));
        Value::environment(variable, Some(written.unwrap_or(default)))
    }

    /// Properties, the environment, other variables, files.
    fn property(&mut self, name: &str, arguments: &[String], at: usize) -> Option<Value> {
        let first = self.argument(arguments, 0, at);
        let value = match name {
            "P" | "property" => {
                let property = first.constant()?;
                let (index, default) = if name == "P" {
                    (1, "1")
                } else {
                    (2, property.as_str())
                };
                let default = match arguments.get(index) {
                    Some(_) => {
                        let value = self.argument(arguments, index, at);
                        match value.constant() {
                            Some(text) => text,
                            // The default of an environment variable is a constant.
                            None => return Some(value),
                        }
                    }
                    None => default.to_owned(),
                };
                self.property_value(&property, default)
            }
            "env" => {
                let default = self.argument(arguments, 2, at).constant();
                Value::environment(first.constant()?, default.filter(|text| !text.is_empty()))
            }
            "V" => {
                let variable = first.constant()?;
                let is_known = self.names.slots.contains_key(&variable)
                    || self.names.expressions.contains_key(&variable)
                    || self.names.constants.contains_key(&variable);
                if !is_known && arguments.len() > 1 {
                    return Some(self.argument(arguments, 1, at));
                }
                self.variable_value(&variable, at)
            }
            "eval" | "evalVar" => {
                let text = if name == "eval" {
                    first
                } else {
                    self.variable_value(&first.constant()?, at)
                };
                match text.literal() {
                    Some(text) => self.value(text, at),
                    None => text,
                }
            }
            "FileToString" => {
                let path = first.constant()?;
                self.name_file(&path)?;
                let value = Value::expression(format!("file({})", quoted(&path)?));
                self.stored(arguments, 2, value)
            }
            "threadGroupName" => Value::text(self.user.group.clone()),
            "samplerName" => Value::text(self.user.sampler.clone()),
            "log" | "logn" => Value::default(),
            _ => return None,
        };
        Some(value)
    }

    /// Values that differ from call to call.
    fn changing(&mut self, name: &str, arguments: &[String], at: usize) -> Option<Value> {
        let value = match name {
            "UUID" => Value::expression("uuid()"),
            "threadNum" => Value::expression("user"),
            "iterationNum" => Value::expression("iteration"),
            "counter" => {
                let per_user = self.argument(arguments, 0, at).constant()?;
                if !per_user.trim().eq_ignore_ascii_case("true") {
                    let what = format!("function ${{__counter({per_user})}}");
                    let remedy = "number the rows of a data set with `pick: unique`";
                    let why = "it counts over all users; here each user counts alone";
                    self.lose_text(at, &what, why, remedy);
                }
                self.stored(arguments, 1, Value::expression("iteration"))
            }
            "time" => {
                let format = self.argument(arguments, 0, at).constant()?;
                let now = match format.trim() {
                    "" => "now_ms()",
                    "/1000" => "now()",
                    _ => return None,
                };
                self.stored(arguments, 1, Value::expression(now))
            }
            "Random" => {
                let low = self.argument(arguments, 0, at);
                let high = self.argument(arguments, 1, at);
                let value = random_int(&low, &high)?;
                self.stored(arguments, 2, value)
            }
            "RandomString" => {
                let length: usize = self
                    .argument(arguments, 0, at)
                    .constant()?
                    .trim()
                    .parse()
                    .ok()?;
                let of = self.argument(arguments, 1, at).constant()?;
                let value = random_text(length, &of)?;
                self.stored(arguments, 2, value)
            }
            _ => return None,
        };
        Some(value)
    }

    /// Texts computed from others.
    fn computed(&mut self, name: &str, arguments: &[String], at: usize) -> Option<Value> {
        let first = self.argument(arguments, 0, at);
        let wrapped = |function: &str, value: &Value| {
            Some(Value::expression(format!(
                "{function}({})",
                value.argument()?
            )))
        };
        let value = match (name, first.literal()) {
            ("urlencode", Some(_)) => first.form_encoded(),
            ("urlencode", None) => wrapped("urlencode", &first)?,
            ("urldecode", Some(text)) => {
                let spaced = text.replace('+', " ");
                Value::text(percent_decode_str(&spaced).decode_utf8_lossy())
            }
            ("base64Encode", Some(text)) => {
                self.stored(arguments, 1, Value::text(BASE64_STANDARD.encode(text)))
            }
            ("base64Encode", None) => self.stored(arguments, 1, wrapped("base64", &first)?),
            ("base64Decode", Some(text)) => {
                let bytes = BASE64_STANDARD.decode(text).ok()?;
                self.stored(arguments, 1, Value::text(String::from_utf8(bytes).ok()?))
            }
            ("unescapeHtml", _) => wrapped("unescape", &first)?,
            ("toLowerCase" | "lowercase", Some(text)) => {
                self.stored(arguments, 1, Value::text(text.to_lowercase()))
            }
            ("toUpperCase" | "uppercase", Some(text)) => {
                self.stored(arguments, 1, Value::text(text.to_uppercase()))
            }
            ("changeCase", Some(text)) => {
                let text = match self.argument(arguments, 1, at).constant()?.trim() {
                    "" | "UPPER" => text.to_uppercase(),
                    "LOWER" => text.to_lowercase(),
                    _ => return None,
                };
                self.stored(arguments, 2, Value::text(text))
            }
            ("digest", _) => {
                let is_sha256 = first.constant()?.trim().eq_ignore_ascii_case("SHA-256");
                let mut text = self.argument(arguments, 1, at);
                text.push(self.argument(arguments, 2, at));
                let is_upper = self.argument(arguments, 3, at).constant()?.trim() == "true";
                (is_sha256 && !is_upper).then_some(())?;
                let value = wrapped("sha256", &text)?;
                self.stored(arguments, 4, value)
            }
            ("char", Some(_)) => self.characters(arguments, at)?,
            ("intSum" | "longSum", _) => self.sum(arguments, at)?,
            _ => return None,
        };
        Some(value)
    }

    fn characters(&mut self, arguments: &[String], at: usize) -> Option<Value> {
        let mut text = String::new();
        for index in 0..arguments.len() {
            let code = self.argument(arguments, index, at).constant()?;
            let code = code.trim();
            let number = match code.strip_prefix("0x").or_else(|| code.strip_prefix("0X")) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => code.parse().ok()?,
            };
            text.push(char::from_u32(number)?);
        }
        Some(Value::text(text))
    }

    /// The sum of constants; the last argument may name a variable.
    fn sum(&mut self, arguments: &[String], at: usize) -> Option<Value> {
        let mut total: i64 = 0;
        for index in 0..arguments.len() {
            let text = self.argument(arguments, index, at).constant()?;
            match text.trim().parse::<i64>() {
                Ok(number) => total = total.checked_add(number)?,
                Err(_) if index > 0 && index + 1 == arguments.len() => {
                    let sum = Value::text(total.to_string());
                    return Some(self.stored(arguments, index, sum));
                }
                Err(_) => return None,
            }
        }
        Some(Value::text(total.to_string()))
    }

    /// Scripts in functions that are a single well-known expression.
    fn scripted_value(&mut self, name: &str, arguments: &[String], at: usize) -> Option<Value> {
        if !matches!(
            name,
            "groovy" | "jexl3" | "jexl2" | "javaScript" | "BeanShell"
        ) {
            return None;
        }
        let script = self.argument(arguments, 0, at).constant()?;
        let script = script.trim().trim_end_matches(';');
        let of_variable = script
            .strip_prefix("vars.get(")
            .and_then(|rest| rest.strip_suffix(')'));
        let value = match script {
            "UUID.randomUUID()"
            | "UUID.randomUUID().toString()"
            | "java.util.UUID.randomUUID().toString()" => Value::expression("uuid()"),
            "System.currentTimeMillis()"
            | "new Date().getTime()"
            | "new Date().time"
            | "Date.now()" => Value::expression("now_ms()"),
            // The folder of the test plan, beside which its files are.
            _ if script.contains("FileServer") && script.ends_with(".getBaseDir()") => {
                Value::text(".")
            }
            "File.separator" | "java.io.File.separator" => Value::text("/"),
            _ => match (of_variable, script.parse::<f64>()) {
                (Some(text), _) => {
                    let name = text.trim().trim_matches(['"', '\'']).to_owned();
                    self.variable_value(&name, at)
                }
                (None, Ok(_)) => Value::text(script),
                (None, Err(_)) => return None,
            },
        };
        Some(self.stored(arguments, 1, value))
    }

    /// A value that the function also stores in the variable of an argument.
    pub(super) fn stored(&mut self, arguments: &[String], index: usize, value: Value) -> Value {
        let variable = arguments.get(index).map_or("", |text| text.trim());
        if variable.is_empty() || variable.contains("${") || !self.user.is_present {
            return value;
        }
        let slot = self.names.slot(variable);
        self.user.set.insert(variable.to_owned());
        self.user.pending.push((slot.clone(), value.template()));
        Value::expression(slot)
    }

    /// Notes that the plan names a file beside the script; none for a path outside its folder.
    pub(super) fn name_file(&mut self, path: &str) -> Option<()> {
        let is_plain = !path.is_empty()
            && !path.starts_with(['/', '\\'])
            && !path.contains([':', '\\'])
            && path.split('/').all(|part| !matches!(part, ".." | "." | ""));
        is_plain.then_some(())?;
        if self.files.iter().all(|file| file.name != path) {
            self.files.push(DataFile {
                name: path.to_owned(),
                content: FileContent::Copy(path.to_owned()),
            });
        }
        Some(())
    }
}

/// A random number between two bounds, both included.
pub(super) fn random_int(low: &Value, high: &Value) -> Option<Value> {
    let whole = |value: &Value| match value.literal() {
        Some(text) => text
            .trim()
            .parse::<i64>()
            .ok()
            .map(|number| number.to_string()),
        None => value.argument(),
    };
    let (low, high) = (whole(low)?, whole(high)?);
    if let (Ok(low), Ok(high)) = (low.parse::<i64>(), high.parse::<i64>())
        && low > high
    {
        return None;
    }
    Some(Value::expression(format!("random_int({low}, {high})")))
}

/// A random text of given characters; of letters and digits if none are given.
fn random_text(length: usize, of: &str) -> Option<Value> {
    if !(1..=65_536).contains(&length) {
        return None;
    }
    if of.is_empty() {
        return Some(Value::expression(format!("random_string({length})")));
    }
    if length > PICKS_MAX || of.chars().count() > 100 {
        return None;
    }
    let choices: Option<Vec<String>> = of.chars().map(|c| quoted(&c.to_string())).collect();
    let pick = format!("pick({})", choices?.join(", "));
    let mut value = Value::default();
    for _ in 0..length {
        value.push(Value::expression(pick.clone()));
    }
    Some(value)
}
