//! Secrets of a script: the plan reads them from the environment.

use std::sync::LazyLock;

use plimsoll_model::redact;
use regex::Regex;

use super::Marks;
use crate::heuristics;

/// Names that are secrets in a request, unless their value is a plain word: `code: EUR`, `key: size`.
const AMBIGUOUS: [&str; 11] = [
    "key", "keys", "code", "sign", "sig", "auth", "pin", "sid", "ticket", "nonce", "session",
];

/// A key of a JSON text and its value, if that is a text.
static JSON_PAIR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#""((?:[^"\\]|\\.)*)"(\s*:\s*")((?:[^"\\]|\\.)*)""#).ok());

/// Variables of the environment that a plan needs, with the secrets that they stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    variables: Vec<Variable>,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    /// The secret it stands for; `None` if the script does not have the value.
    value: Option<String>,
    /// What to set it to, for people.
    meaning: String,
}

impl Secrets {
    /// The expression for a variable that the script itself reads from outside, by its own name.
    pub(crate) fn variable(&mut self, name: &str, meaning: &str) -> String {
        if !self.variables.iter().any(|known| known.name == name) {
            self.variables.push(Variable {
                name: name.to_owned(),
                value: None,
                meaning: meaning.to_owned(),
            });
        }
        format!("env('{name}')")
    }

    /// The expression for a secret, in a variable named after `hint`.
    pub(crate) fn expression(&mut self, hint: &str, value: &str, meaning: &str) -> String {
        let known = self
            .variables
            .iter()
            .find(|known| known.value.as_deref() == Some(value));
        if let Some(known) = known {
            return format!("env('{}')", known.name);
        }
        let is_free = |name: &String| self.variables.iter().all(|known| known.name != *name);
        let name = heuristics::free_name(environment_name(hint), is_free);
        self.variables.push(Variable {
            name: name.clone(),
            value: Some(value.to_owned()),
            meaning: meaning.to_owned(),
        });
        format!("env('{name}')")
    }

    /// The value of a header, without its secret.
    pub(crate) fn header(&mut self, marks: &mut Marks, name: &str, value: &str) -> String {
        let lower = name.to_ascii_lowercase();
        if value.trim().is_empty() || Marks::are_in(value) {
            return value.to_owned();
        }
        if lower == "cookie" {
            return self.cookies(marks, value);
        }
        if matches!(lower.as_str(), "authorization" | "proxy-authorization") {
            let (scheme, rest) = match value.split_once(' ') {
                Some((scheme, rest)) => (format!("{scheme} "), rest),
                None => (String::new(), value),
            };
            let meaning = format!("of the header {name}");
            let expression = self.expression("token", rest, &meaning);
            return format!("{scheme}{}", marks.mark(&expression));
        }
        if heuristics::names_secret(name) || heuristics::names_password(name) {
            let expression = self.expression(name, value, &format!("the header {name}"));
            return marks.mark(&expression).to_string();
        }
        value.to_owned()
    }

    /// A `Cookie` header: whole from the environment if it identifies somebody.
    fn cookies(&mut self, marks: &mut Marks, value: &str) -> String {
        let identifies = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.trim();
            !value.is_empty() && (redact::is_secret(name.trim()) || heuristics::is_random(value))
        };
        if !value.split(';').any(identifies) {
            return value.to_owned();
        }
        let expression = self.expression("cookie", value, "the header Cookie");
        marks.mark(&expression).to_string()
    }

    /// `user:password` as the value of an `Authorization` header.
    pub(crate) fn basic(&mut self, marks: &mut Marks, credentials: &str) -> String {
        let expression = match single(marks, credentials) {
            Some(expression) => expression.to_owned(),
            None if Marks::are_in(credentials) => {
                let meaning = format!("`user:password`, here `{}`", marks.shown(credentials));
                self.expression("credentials", credentials, &meaning)
            }
            None => self.expression("credentials", credentials, "`user:password`"),
        };
        format!("Basic {}", marks.mark(&format!("base64({expression})")))
    }

    /// The value of a field or parameter, if it is a secret: a mark. `function` encodes it at run time.
    pub(crate) fn parameter(
        &mut self,
        marks: &mut Marks,
        (name, value): (&str, &str),
        function: Option<&str>,
    ) -> Option<char> {
        if value.is_empty() || Marks::are_in(value) || !is_secret(name, value) {
            return None;
        }
        let expression = self.expression(name, value, &format!("the parameter {name}"));
        let expression = match function {
            Some(function) => format!("{function}({expression})"),
            None => expression,
        };
        Some(marks.mark(&expression))
    }

    /// A form or query that is encoded already, with its secrets replaced.
    pub(crate) fn form(&mut self, marks: &mut Marks, text: &str) -> String {
        let pairs: Vec<String> = text
            .split('&')
            .map(|pair| {
                let Some((name, value)) = pair.split_once('=') else {
                    return pair.to_owned();
                };
                let decode = |text: &str| {
                    let text = text.replace('+', " ");
                    percent_encoding::percent_decode_str(&text)
                        .decode_utf8_lossy()
                        .into_owned()
                };
                match self.parameter(marks, (&decode(name), &decode(value)), Some("urlencode")) {
                    Some(mark) => format!("{name}={mark}"),
                    None => pair.to_owned(),
                }
            })
            .collect();
        pairs.join("&")
    }

    /// A JSON text with its secrets replaced.
    pub(crate) fn json(&mut self, marks: &mut Marks, text: &str) -> String {
        let Some(pair) = JSON_PAIR.as_ref() else {
            return text.to_owned();
        };
        pair.replace_all(text, |found: &regex::Captures<'_>| {
            let decode = |text: &str| {
                serde_json::from_str::<String>(&format!("\"{text}\""))
                    .unwrap_or_else(|_| text.to_owned())
            };
            let (name, value) = (decode(&found[1]), decode(&found[3]));
            match self.parameter(marks, (&name, &value), Some("json")) {
                Some(mark) => format!("\"{}\"{}{mark}\"", &found[1], &found[2]),
                None => found[0].to_owned(),
            }
        })
        .into_owned()
    }

    /// A body of a media type that is known or guessed, with its secrets replaced.
    pub(crate) fn body(&mut self, marks: &mut Marks, media_type: &str, text: &str) -> String {
        let kind = media_type.to_ascii_lowercase();
        if kind.contains("json") || text.trim_start().starts_with(['{', '[']) {
            return self.json(marks, text);
        }
        if kind.starts_with("application/x-www-form-urlencoded") {
            return self.form(marks, text);
        }
        text.to_owned()
    }

    /// What to set before a run, for people: the variables that the plan reads; `None` if there are none.
    pub(crate) fn note(&self, marks: &Marks) -> Option<String> {
        let names: Vec<String> = self
            .variables
            .iter()
            .filter(|variable| marks.is_read(&variable.name))
            .map(|variable| format!("{} ({})", variable.name, variable.meaning))
            .collect();
        (!names.is_empty()).then(|| format!("set before a run: {}", names.join(", ")))
    }
}

/// The name of a variable of the environment: `BASE_URL` for `baseUrl`.
pub(crate) fn environment_name(name: &str) -> String {
    let mut spaced = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            spaced.push('_');
        }
        spaced.push(c);
        before = c;
    }
    heuristics::slot_name(&spaced).to_ascii_uppercase()
}

/// The expression, if a text is one and nothing else.
fn single<'m>(marks: &'m Marks, text: &str) -> Option<&'m str> {
    let mut chars = text.chars();
    let only = chars.next().filter(|_| chars.as_str().is_empty())?;
    marks.expression(only)
}

/// Whether a field or parameter has a secret.
fn is_secret(name: &str, value: &str) -> bool {
    if heuristics::names_password(name) {
        return true;
    }
    if !heuristics::names_secret(name) {
        return false;
    }
    let is_ambiguous = AMBIGUOUS.contains(&name.to_ascii_lowercase().as_str());
    !is_ambiguous || heuristics::is_random(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl Fn(&mut Secrets, &mut Marks) -> String, expected: &str) {
        let (mut secrets, mut marks) = (Secrets::default(), Marks::default());
        let text = change(&mut secrets, &mut marks);
        assert_eq!(marks.shown(&text), expected);
    }

    #[test]
    fn secrets_leave_the_text() {
        check(
            |secrets, marks| secrets.header(marks, "Authorization", "Bearer abc"),
            "Bearer {{ env('TOKEN') }}",
        );
        check(
            |secrets, marks| secrets.header(marks, "X-Api-Key", "abc"),
            "{{ env('X_API_KEY') }}",
        );
        check(
            |secrets, marks| secrets.header(marks, "Accept", "a/b"),
            "a/b",
        );
        check(
            |secrets, marks| secrets.header(marks, "Cookie", "lang=en; theme=dark"),
            "lang=en; theme=dark",
        );
        check(
            |secrets, marks| secrets.header(marks, "cookie", "lang=en; sessionid=1"),
            "{{ env('COOKIE') }}",
        );
        check(
            |secrets, marks| secrets.basic(marks, "ada:pw"),
            "Basic {{ base64(env('CREDENTIALS')) }}",
        );
        check(
            |secrets, marks| secrets.form(marks, "name=ada&password=a%20b&country_code=FI"),
            "name=ada&password={{ urlencode(env('PASSWORD')) }}&country_code=FI",
        );
        check(
            |secrets, marks| secrets.json(marks, r#"{"a": {"password" : "x\"y", "code": "EUR"}}"#),
            r#"{"a": {"password" : "{{ json(env('PASSWORD')) }}", "code": "EUR"}}"#,
        );
    }

    #[test]
    fn names_become_those_of_an_environment() {
        for (name, expected) in [
            ("baseUrl", "BASE_URL"),
            ("API-key", "API_KEY"),
            ("user", "USER_VALUE"),
            ("2fa", "VALUE_2FA"),
        ] {
            assert_eq!(environment_name(name), expected);
        }
    }

    #[test]
    fn one_secret_is_one_variable() {
        let (mut secrets, mut marks) = (Secrets::default(), Marks::default());
        secrets.header(&mut marks, "Authorization", "Bearer a");
        secrets.header(&mut marks, "authorization", "Bearer a");
        secrets.header(&mut marks, "Authorization", "Bearer b");
        assert_eq!(
            secrets.variable("HOST", "the variable $HOST"),
            "env('HOST')"
        );
        let second = marks.mark("env('TOKEN_2')").to_string();
        marks.template(&second);
        assert_eq!(
            secrets.note(&marks).unwrap(),
            "set before a run: TOKEN_2 (of the header Authorization)"
        );
    }
}
