//! What k6, its library modules and the language bring.

use super::machine::Machine;
use super::value::Value;

/// Names that every script has.
const GLOBALS: [&str; 29] = [
    "Math",
    "JSON",
    "Object",
    "Array",
    "String",
    "Number",
    "Boolean",
    "Date",
    "Promise",
    "console",
    "__ENV",
    "open",
    "parseInt",
    "parseFloat",
    "isNaN",
    "encodeURIComponent",
    "encodeURI",
    "decodeURIComponent",
    "Set",
    "Map",
    "setTimeout",
    "setInterval",
    "clearTimeout",
    "clearInterval",
    "Error",
    "RegExp",
    "crypto",
    "URLSearchParams",
    "require",
];

/// Modules by the end of their address, and the names that they are known by here.
const REMOTE: [(&str, &str); 6] = [
    ("papaparse", "papaparse"),
    ("k6-utils", "utils"),
    ("k6-summary", "summary"),
    ("formdata", "formdata"),
    ("k6chaijs", "chai"),
    ("jslib.k6.io/url/", "url"),
];

/// The module of an import; `None` for one that is not known.
pub(super) fn module(address: &str) -> Option<&'static str> {
    Some(match address {
        "k6" => "k6",
        "k6/http" => "http",
        "k6/data" => "data",
        "k6/execution" => "exec",
        "k6/metrics" => "metrics",
        "k6/encoding" => "encoding",
        "k6/crypto" | "k6/webcrypto" | "k6/experimental/webcrypto" => "crypto",
        "k6/html" => "html",
        "k6/options" => "options",
        "k6/timers" | "k6/experimental/timers" => "timers",
        "k6/ws" => "ws",
        "k6/websockets" | "k6/experimental/websockets" => "websockets",
        other => {
            let lower = other.to_ascii_lowercase();
            if !lower.starts_with("http")
                && !lower.starts_with("k6/x/")
                && !lower.contains("papaparse")
            {
                return None;
            }
            return REMOTE
                .iter()
                .find(|(part, _)| lower.contains(part))
                .map(|(_, name)| *name);
        }
    })
}

/// A global name.
pub(super) fn global<'a>(name: &str) -> Option<Value<'a>> {
    match name {
        "undefined" => return Some(Value::Undefined),
        "NaN" => return Some(Value::Number(f64::NAN)),
        "Infinity" => return Some(Value::Number(f64::INFINITY)),
        "globalThis" => return Some(Value::native("globalThis")),
        _ => {}
    }
    if let Some(counter) = Machine::counter(name) {
        return Some(counter);
    }
    GLOBALS.contains(&name).then(|| Value::native(name))
}

/// A property of what k6 or the language brings.
pub(super) fn property<'a>(path: &str) -> Value<'a> {
    if let Some(counter) = Machine::counter(path) {
        return counter;
    }
    match path {
        "Math.PI" => Value::Number(std::f64::consts::PI),
        "Math.E" => Value::Number(std::f64::consts::E),
        "Number.MAX_SAFE_INTEGER" => Value::Number(9_007_199_254_740_991.0),
        "exec.scenario.name" | "exec.vu.metrics.tags.scenario" => {
            Value::unknown("the name of the scenario")
        }
        "exec.scenario.startTime"
        | "exec.scenario.progress"
        | "exec.instance.currentTestRunDuration" => Value::unknown("the progress of the test"),
        "exec.instance.vusActive" | "exec.instance.vusInitialized" => {
            Value::unknown("the number of users that are active")
        }
        "globalThis.__ENV" => Value::native("__ENV"),
        // Modules imported as a whole have what they export by default as themselves.
        other => match other.strip_suffix(".default") {
            Some(module) => Value::native(module),
            None => Value::native(other),
        },
    }
}

/// A name that a module exports.
pub(super) fn export<'a>(module: &str, name: &str) -> Value<'a> {
    match (module, name) {
        (_, "default" | "*") => Value::native(module),
        ("websockets", "WebSocket") => Value::native("WebSocket"),
        ("timers", name) => Value::native(name),
        ("crypto", "crypto") => Value::native("crypto"),
        ("k6", name) => Value::native(format!("k6.{name}")),
        (module, name) => property(&format!("{module}.{name}")),
    }
}
