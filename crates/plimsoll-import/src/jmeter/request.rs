//! An HTTP sampler as a request of a plan.

use std::time::Duration;

use super::context::Import;
use super::names::title;
use super::scope::{ElementScope, Merged};
use super::tree::Element;
use super::value::Value;
use crate::script::draft::{RequestDraft, StepDraft, StepItem};

/// Methods that a plan has.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// Redirects that JMeter follows itself, and those that its HTTP client follows for it.
const FOLLOWED: u32 = 20;
const FOLLOWED_BY_CLIENT: u32 = 50;

impl Import<'_> {
    /// The steps of a sampler: its think times, what it computes, its request.
    pub(super) fn request(&mut self, sampler: &Element, outer: &ElementScope<'_>) -> Vec<StepItem> {
        let scope = ElementScope::new(&sampler.below, Some(outer));
        let merged = Merged::new(sampler, &scope);
        self.user.sampler.clone_from(&sampler.name);
        let mut items = self.thinks(&scope);
        let Some(method) = self.method(sampler, &merged) else {
            return items;
        };
        let mut headers = self.headers(&scope);
        let has_query = matches!(method.as_str(), "GET" | "DELETE" | "OPTIONS");
        let query = if has_query {
            self.query(&merged.arguments())
        } else {
            Value::default()
        };
        let address = self.address(sampler, &merged, &query);
        let has_authorization = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if !has_authorization && let Some(value) = self.authorization(&scope, &address) {
            headers.push(("Authorization".to_owned(), value));
        }
        let body = self.body(sampler, &merged, &method, &mut headers);
        let follow = follow(&merged);
        let mut draft = RequestDraft {
            method,
            url: address.url,
            label: (!sampler.name.trim().is_empty()).then(|| label(&sampler.name)),
            headers: headers
                .into_iter()
                .map(|(name, value)| (name, value.template()))
                .collect(),
            body,
            follow,
            timeout: self.timeout(&merged),
            with_resources: merged.is_set_or("HTTPSampler.image_parser", false),
            ..RequestDraft::default()
        };
        // A plan looks at its expectations before it captures.
        draft.expect = self.expectations(&scope, follow.is_some());
        draft.captures = self.captures(&scope);
        self.settings(sampler, &merged);
        items.extend(self.pending());
        items.push(StepDraft::Request(Box::new(draft)).into());
        items
    }

    fn method(&mut self, sampler: &Element, merged: &Merged<'_>) -> Option<String> {
        let written = self.of(merged.layer("HTTPSampler.method"), "HTTPSampler.method");
        let method = written
            .constant()
            .unwrap_or_default()
            .trim()
            .to_ascii_uppercase();
        if method.is_empty() && written.is_empty() {
            return Some("GET".to_owned());
        }
        if METHODS.contains(&method.as_str()) {
            return Some(method);
        }
        self.lose(
            sampler,
            &format!(
                "a plan has no method `{}`",
                sampler.text("HTTPSampler.method")
            ),
            "write one of get, post, put, patch, delete, head and options",
        );
        None
    }

    fn timeout(&mut self, merged: &Merged<'_>) -> Option<Duration> {
        let property = "HTTPSampler.response_timeout";
        let ms = self.number(merged.layer(property), property)?;
        (1.0..=31_536_000_000.0)
            .contains(&ms)
            .then(|| Duration::from_secs_f64(ms / 1000.0))
    }

    /// Settings of the connection, and those that a plan does not have.
    fn settings(&mut self, sampler: &Element, merged: &Merged<'_>) {
        self.requests.0 += 1;
        if !merged.is_set_or("HTTPSampler.use_keepalive", true) {
            self.requests.1 += 1;
        }
        let lost = [
            (
                "HTTPSampler.proxyHost",
                "proxy server",
                "a plan sends to its target directly",
                "write the proxy's URL as `target` if it forwards requests as a reverse proxy",
            ),
            (
                "HTTPSampler.ipSource",
                "source address",
                "it is a setting of the whole plan",
                "write `transport: { sources: [ADDRESS] }`",
            ),
            (
                "HTTPSampler.embedded_url_re",
                "filter of embedded resources",
                "a page requests all resources of its own site",
                "list the resources of the `page` instead of `found`",
            ),
            (
                "HTTPSampler.embedded_url_exclude_re",
                "filter of embedded resources",
                "a page requests all resources of its own site",
                "list the resources of the `page` instead of `found`",
            ),
        ];
        for (property, part, why, remedy) in lost {
            if !merged.text(property).trim().is_empty() {
                self.lose_part(merged.layer(property), property, (part, why, remedy));
            }
        }
        if merged.is_set_or("HTTPSampler.image_parser", false) {
            self.note(format!(
                "`resources: found` requests the resources of a page's own site; JMeter ({}) those of other sites, too",
                title(sampler)
            ));
        }
    }
}

fn follow(merged: &Merged<'_>) -> Option<u32> {
    if merged.is_set_or("HTTPSampler.follow_redirects", false) {
        return Some(FOLLOWED);
    }
    merged
        .is_set_or("HTTPSampler.auto_redirects", false)
        .then_some(FOLLOWED_BY_CLIENT)
}

/// A name for tables: what would be a placeholder is none in it.
pub(super) fn label(name: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let line: String = name.trim().chars().map(visible).take(200).collect();
    line.replace("{{", "{ {")
}
