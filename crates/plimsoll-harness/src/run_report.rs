//! The JSON object of `plimsoll run`, `limit`, `tune` and others.

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What it printed.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport(Value);

impl RunReport {
    /// Reads its standard output.
    ///
    /// # Errors
    ///
    /// If that is not JSON.
    pub fn parse(text: &str) -> Result<Self> {
        let value = serde_json::from_str(text);
        value.map(Self).with_context(|| {
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            format!("plimsoll printed no JSON: {}", last.unwrap_or("nothing"))
        })
    }

    /// Reads the first object that begins a line of a log.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn within(log: &str) -> Result<Self> {
        let start = log.find("\n{").map(|at| at + 1);
        let start = start.or_else(|| log.starts_with('{').then_some(0));
        let text = start.map_or("", |at| &log[at..]);
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let value = values.next().and_then(Result::ok);
        value
            .map(Self)
            .with_context(|| format!("plimsoll printed no JSON: {}", log.trim()))
    }

    /// The value at `key.key`.
    pub fn value(&self, path: &str) -> &Value {
        path.split('.').fold(&self.0, |value, key| &value[key])
    }

    /// The whole object, or what of it a type names.
    ///
    /// # Errors
    ///
    /// If it does not fit the type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&self.0).context("plimsoll printed another object")
    }

    /// A number, where there is one.
    pub fn known(&self, path: &str) -> Option<f64> {
        self.value(path).as_f64()
    }

    /// A number.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn number(&self, path: &str) -> Result<f64> {
        self.known(path)
            .with_context(|| format!("plimsoll reports no {path}"))
    }

    /// A count.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn count(&self, path: &str) -> Result<u64> {
        let count = self.value(path).as_u64();
        count.with_context(|| format!("plimsoll reports no {path}"))
    }

    /// Good outcomes, and all.
    ///
    /// # Errors
    ///
    /// If none are reported.
    pub fn outcomes(&self) -> Result<(u64, u64)> {
        let outcomes = self.value("outcomes").as_object();
        let outcomes = outcomes.context("plimsoll reports no outcomes")?;
        let good = outcomes.get("ok").and_then(Value::as_u64).unwrap_or(0);
        Ok((good, outcomes.values().filter_map(Value::as_u64).sum()))
    }

    /// Why it calls its own measurement void.
    pub fn void(&self) -> Option<String> {
        match self.value("void") {
            Value::Null => None,
            Value::Array(reasons) => {
                let reasons: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
                Some(reasons.join("; "))
            }
            Value::String(reason) => Some(reason.clone()),
            other => Some(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_their_path_and_void_tells_why() {
        let text = r#"{ "outcomes": { "ok": 90, "timeout": 10 }, "response_time_ms": { "p99": 2.5, "p95": null }, "void": null }"#;
        let report = RunReport::parse(text).unwrap();
        assert_eq!(report.known("response_time_ms.p99"), Some(2.5));
        assert_eq!(report.known("response_time_ms.p95"), None);
        assert_eq!(report.outcomes().unwrap(), (90, 100));
        assert_eq!(report.void(), None);
        let error = report.number("generator.lag").unwrap_err().to_string();
        assert_eq!(error, "plimsoll reports no generator.lag");
        let void = RunReport::parse(r#"{ "void": ["it lagged", "it was busy"] }"#).unwrap();
        assert_eq!(void.void().as_deref(), Some("it lagged; it was busy"));
        assert!(void.outcomes().is_err());
        let within = RunReport::within("{brace\nlate\n{ \"a\": 7 }\nwritten\n").unwrap();
        assert_eq!(within.count("a").unwrap(), 7);
        assert!(RunReport::within("nothing").is_err());
        let error = RunReport::parse("WARN no\n\n").unwrap_err().to_string();
        assert!(error.ends_with("WARN no"), "{error}");
    }
}
