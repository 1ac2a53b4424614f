//! Where a sampler's request goes.

use super::context::Import;
use super::scope::Merged;
use super::tree::{Element, Property};
use super::value::Value;
use crate::script::TWO_SLASHES;
use crate::script::draft::UrlDraft;

/// A request's address, and its constant forms as far as they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Address {
    pub(super) url: UrlDraft,
    /// `http://host:port/path`, with the defaults of properties, up to what is known only at run time.
    pub(super) known: String,
}

impl Import<'_> {
    /// The address of a sampler; arguments in the query included.
    pub(super) fn address(
        &mut self,
        sampler: &Element,
        merged: &Merged<'_>,
        query: &Value,
    ) -> Address {
        let path = self.of(merged.layer("HTTPSampler.path"), "HTTPSampler.path");
        let known = path.constant().unwrap_or_else(|| path.start().to_owned());
        let is_whole = known.starts_with("http://") || known.starts_with("https://");
        let (origin, mut path) = match (is_whole, path.start().starts_with("http")) {
            (true, true) => split_origin(&path),
            // `${base}/login`, whose variable has the scheme.
            (true, false) => path.split_at(&['/']),
            (false, _) => (self.origin(merged), path),
        };
        // JMeter sends the rest of a whole URL as it is, without the arguments.
        if !query.is_empty() && !is_whole {
            let separator = if path.contains("?") { "&" } else { "?" };
            path.push_text(separator);
            path.push(query.clone());
        }
        let (path, fragment) = path.split_at(&['#']);
        if !fragment.is_empty() {
            let note = "parts of URLs behind `#` are not sent, as in JMeter";
            self.note(note);
        }
        let mut full = Value::default();
        if !path.begins_path() {
            full.push_text("/");
        }
        full.push(path);
        let path = full.as_path();
        if path.start().starts_with("//") {
            let (what, how) = TWO_SLASHES;
            self.lose_part(sampler, "HTTPSampler.path", (what, how.why, how.remedy));
        }
        let origin = self.checked_origin(sampler, origin);
        let known = origin.constant().unwrap_or_default() + path.start();
        let key = origin.template();
        if origin.has_environment() {
            self.origins.insert(key.clone(), origin.constant());
        }
        Address {
            url: UrlDraft {
                origin: key,
                path: path.template(),
            },
            known,
        }
    }

    /// `protocol://domain:port` of a sampler and its defaults.
    fn origin(&mut self, merged: &Merged<'_>) -> Value {
        let mut of = |property: &str| {
            let value = self.of(merged.layer(property), property);
            value.without_references()
        };
        let domain = of("HTTPSampler.domain");
        let protocol = of("HTTPSampler.protocol");
        let port = of("HTTPSampler.port");
        if domain.is_empty() {
            return Value::default();
        }
        let mut origin = Value::default();
        let has_scheme =
            domain.start().starts_with("http://") || domain.start().starts_with("https://");
        if !has_scheme {
            if protocol.is_empty() {
                origin.push_text("http");
            } else {
                origin.push(lowercased(protocol.required()));
            }
            origin.push_text("://");
        }
        origin.push(trimmed(&domain.required()));
        let is_default = match (origin.start(), port.literal().map(str::trim)) {
            (_, Some("" | "0" | "-1")) => true,
            (start, Some("80")) => start.starts_with("http://"),
            (start, Some("443")) => start.starts_with("https://"),
            _ => false,
        };
        if !is_default {
            origin.push_text(":");
            origin.push(trimmed(&port));
        }
        origin
    }

    /// A site must not change from row to row, for the plan names its sites; and it must be one.
    fn checked_origin(&mut self, sampler: &Element, origin: Value) -> Value {
        let why = match origin.constant() {
            _ if origin.varies() => "it changes at run time, and a plan names its sites".to_owned(),
            // Its value is known when the plan is read.
            None => return origin,
            Some(text) if text.is_empty() || is_site(&text) => return origin,
            Some(text) => format!("`{text}` is not a site of HTTP"),
        };
        self.lose_part(
            sampler,
            "HTTPSampler.domain",
            (
                "server name",
                &why,
                "write the site's URL as `target`, or give it as --target",
            ),
        );
        Value::default()
    }

    /// The query of arguments as JMeter appends it to the path.
    pub(super) fn query(&mut self, arguments: &[&Property]) -> Value {
        let mut query = Value::default();
        for argument in arguments {
            let is_encoded = argument.is_set("HTTPArgument.always_encode");
            let name = self.of_item(argument, "Argument.name");
            if name.is_empty() {
                continue;
            }
            let value = self.argument_value(argument, &name);
            if !query.is_empty() {
                query.push_text("&");
            }
            let encode = |value: &Value| {
                if is_encoded {
                    value.form_encoded()
                } else {
                    value.clone()
                }
            };
            query.push(encode(&name));
            let sign = argument
                .get("Argument.metadata")
                .map_or("=", |sign| sign.text.as_str());
            query.push_text(sign);
            query.push(encode(&value));
        }
        query
    }

    /// An argument's value; a secret is read from the environment.
    pub(super) fn argument_value(&mut self, argument: &Property, name: &Value) -> Value {
        let text = argument.text_of("Argument.value");
        let is_password = name
            .literal()
            .is_some_and(crate::heuristics::names_password);
        if is_password && super::variables::is_secret(text) {
            return self.secret(name.literal().unwrap_or("password"));
        }
        self.of_item(argument, "Argument.value")
    }
}

/// Splits a whole URL behind its host.
fn split_origin(url: &Value) -> (Value, Value) {
    let mut origin = Value::default();
    let scheme = if url.start().starts_with("https") {
        "https://"
    } else {
        "http://"
    };
    let (host, path) = url.without_start(scheme).split_at(&['/', '?', '#']);
    origin.push_text(scheme);
    origin.push(host);
    (origin, path)
}

/// Whether a text is `http://host:port` or the same with `https`.
fn is_site(text: &str) -> bool {
    let is_http = |url: ::url::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    ::url::Url::parse(text).is_ok_and(is_http)
}

fn lowercased(value: Value) -> Value {
    match value.literal() {
        Some(text) => Value::text(text.trim().to_ascii_lowercase()),
        None => value,
    }
}

fn trimmed(value: &Value) -> Value {
    match value.literal() {
        Some(text) => Value::text(text.trim().trim_end_matches('/')),
        None => value.clone(),
    }
}
