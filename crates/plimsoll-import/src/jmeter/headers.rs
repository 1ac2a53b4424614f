//! Headers of a sampler: those of the Header Managers in its scope, and the credentials for its address.

use super::context::Import;
use super::scope::ElementScope;
use super::tree::{Element, Property};
use super::url::Address;
use super::value::Value;
use super::variables::is_secret;
use crate::heuristics;

/// Headers that the load generator sets itself.
const SET_BY_ITSELF: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

impl Import<'_> {
    /// The headers of all managers in the scope; the nearest manager's counts.
    pub(super) fn headers(&mut self, scope: &ElementScope<'_>) -> Vec<(String, Value)> {
        let managers: Vec<&Element> = scope.of(&["HeaderManager"]).collect();
        let mut headers: Vec<(String, Value)> = Vec::new();
        for manager in managers {
            let known: Vec<String> = headers.iter().map(|(name, _)| name.clone()).collect();
            for header in manager.items("HeaderManager.headers") {
                let Some((name, value)) = self.header(manager, header) else {
                    continue;
                };
                if known.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
                    continue;
                }
                let same = headers
                    .iter_mut()
                    .find(|(other, _)| other.eq_ignore_ascii_case(&name));
                match same {
                    Some((_, before)) => {
                        before.push_text(", ");
                        before.push(value);
                    }
                    None => headers.push((name, value)),
                }
            }
        }
        headers
    }

    fn header(&mut self, manager: &Element, header: &Property) -> Option<(String, Value)> {
        let name = self.of_item(header, "Header.name");
        let text = header.text_of("Header.value");
        let Some(name) = name.constant().map(|name| name.trim().to_owned()) else {
            self.lose_text(
                header.at,
                &format!("header {}", header.text_of("Header.name")),
                "its name changes at run time",
                "write the name itself under `headers`",
            );
            return None;
        };
        if name.is_empty() || SET_BY_ITSELF.contains(&name.to_ascii_lowercase().as_str()) {
            return None;
        }
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if !name.bytes().all(token) {
            self.lose_text(
                header.at,
                &format!("header {name} of {}", super::names::title(manager)),
                "it is not a valid name of a header",
                "write a name of letters, digits and hyphens under `headers`",
            );
            return None;
        }
        let value = if is_credential(&name, text) {
            self.secret(&name)
        } else {
            self.of_item(header, "Header.value")
        };
        Some((name, value.one_line()))
    }

    /// `Authorization` for an address, if a manager in the scope has credentials for it.
    pub(super) fn authorization(
        &mut self,
        scope: &ElementScope<'_>,
        address: &Address,
    ) -> Option<Value> {
        let managers: Vec<&Element> = scope.of(&["AuthManager"]).collect();
        for manager in managers {
            for entry in manager.items("AuthManager.auth_list") {
                let base = self.of_item(entry, "Authorization.url");
                let base = base.constant().unwrap_or_default();
                let base = base.trim();
                if !applies(base, &address.known) {
                    continue;
                }
                let mechanism = entry.text_of("Authorization.mechanism").trim();
                if matches!(mechanism, "DIGEST" | "KERBEROS") {
                    self.lose_text(
                        entry.at,
                        &format!("{mechanism} of {}", super::names::title(manager)),
                        "a plan has Basic authentication and tokens only",
                        "write `headers: { Authorization: … }` for a token, or let the target accept Basic",
                    );
                    return None;
                }
                return Some(self.credentials(entry));
            }
        }
        None
    }

    fn credentials(&mut self, entry: &Property) -> Value {
        let user = self.of_item(entry, "Authorization.username");
        let text = entry.text_of("Authorization.password");
        let password = if is_secret(text) {
            let hint = user.literal().unwrap_or_default().to_owned();
            self.secret(&format!("{hint}_password"))
        } else {
            self.of_item(entry, "Authorization.password")
        };
        let mut pair = user;
        pair.push_text(":");
        pair.push(password);
        let argument = pair.argument().unwrap_or_else(|| {
            // A function takes one value: the pair is put together ahead.
            let slot = self.names.slot("basic_credentials");
            self.user.set.insert("basic_credentials".to_owned());
            self.user.pending.push((slot.clone(), pair.template()));
            slot
        });
        let mut value = Value::text("Basic ");
        value.push(Value::expression(format!("base64({argument})")));
        value
    }
}

/// Whether an entry of the Authorization Manager is for an address: JMeter compares the beginnings.
fn applies(base: &str, known: &str) -> bool {
    if base.is_empty() {
        return false;
    }
    let without_port = |url: &str| url.replace(":80/", "/").replace(":443/", "/");
    without_port(known).starts_with(&without_port(base))
}

/// Whether a header has a secret as it stands.
fn is_credential(name: &str, text: &str) -> bool {
    let is_named = name.eq_ignore_ascii_case("authorization")
        || name.eq_ignore_ascii_case("proxy-authorization")
        || heuristics::names_secret(name);
    is_named && is_secret(text)
}
