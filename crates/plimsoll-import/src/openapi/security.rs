//! Security schemes: credentials as variables of the environment.

use super::conversion::Conversion;
use super::documents::Node;
use super::value::Encoding;
use crate::script::{Remedy, Template};

/// What the schemes of an operation add to its request.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    pub(super) headers: Vec<(String, Template)>,
    pub(super) query: Vec<Template>,
    pub(super) cookies: Vec<Template>,
}

/// The credentials of an operation: of its own `security`, else of the document's. Of alternatives the first counts.
pub(super) fn credentials<'d>(
    conversion: &mut Conversion<'d, '_>,
    root: Node<'d>,
    operation: Node<'d>,
) -> Credentials {
    let mut found = Credentials::default();
    let security = operation.get("security").or_else(|| root.get("security"));
    let first = security.and_then(|all| all.items().next());
    for (key, _) in first.into_iter().flat_map(Node::entries) {
        let scheme = root
            .get("components")
            .and_then(|components| components.get("securitySchemes"))
            .and_then(|schemes| schemes.get(&key.text));
        let scheme = scheme.and_then(|scheme| conversion.documents.resolve(scheme).ok());
        let added = scheme.is_some_and(|scheme| add(conversion, &mut found, &key.text, scheme));
        if !added {
            let at = scheme.or(security).unwrap_or(operation);
            conversion.lose(
                at,
                format!("security scheme {}", key.text),
                Remedy {
                    why: "a plan knows http basic and bearer, apiKey, oauth2 and openIdConnect",
                    remedy: "add the header that it needs under `headers:`",
                },
            );
        }
    }
    found
}

/// Adds the credentials of a scheme; `false` if a plan cannot have them.
fn add<'d>(
    conversion: &mut Conversion<'d, '_>,
    found: &mut Credentials,
    name: &str,
    scheme: Node<'d>,
) -> bool {
    let mut variable = |meaning: &str| {
        let meaning = format!("{meaning} of the security scheme {name}");
        let variable = conversion.variables.secret(name, meaning);
        format!("env('{variable}')")
    };
    let kind = scheme.word("type").unwrap_or_default();
    let http = scheme
        .word("scheme")
        .unwrap_or_default()
        .to_ascii_lowercase();
    match (kind, http.as_str()) {
        ("http", "basic") => {
            let secret = variable("the login, as USER:PASSWORD,");
            found.authorize("Basic ", &format!("base64({secret})"));
        }
        ("http", "bearer") | ("oauth2" | "openIdConnect", _) => {
            found.authorize("Bearer ", &variable("the access token"));
        }
        ("apiKey", _) => {
            let key = scheme.word("name").unwrap_or_default();
            match scheme.word("in").unwrap_or_default() {
                "header" if !key.is_empty() => {
                    let value = Template::expression(&variable("the key"));
                    found.headers.push((key.to_owned(), value));
                }
                "query" => {
                    let mut pair = Encoding::Component.literal(key);
                    pair.push_literal("=");
                    let secret = variable("the key");
                    pair.push(&Template::expression(&format!("urlencode({secret})")));
                    found.query.push(pair);
                }
                "cookie" => {
                    let mut pair = Template::literal(key);
                    pair.push_literal("=");
                    pair.push(&Template::expression(&variable("the key")));
                    found.cookies.push(pair);
                }
                _ => return false,
            }
        }
        _ => return false,
    }
    true
}

impl Credentials {
    fn authorize(&mut self, scheme: &str, expression: &str) {
        let mut value = Template::literal(scheme);
        value.push(&Template::expression(expression));
        self.headers.push(("Authorization".to_owned(), value));
    }
}
