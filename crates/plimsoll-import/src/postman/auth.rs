//! Authorization of requests: their own, or inherited from folders and the collection.

use super::context::Context;
use super::variables::Place;
use crate::located::Located;
use crate::script::Marks;
use crate::script::draft::{StepDraft, StepItem};
use crate::script::encoding::COMPONENT;

/// What an authorization adds to a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Login {
    pub(super) header: Option<(String, String)>,
    /// An encoded parameter of the query.
    pub(super) query: Option<String>,
    /// A step before the request.
    pub(super) before: Option<StepItem>,
}

/// The authorization of a request; `None` of `noauth`.
pub(super) fn read(context: &mut Context<'_>, auth: &Located) -> Login {
    let mut login = Login::default();
    let Some(kind) = auth.get("type").and_then(Located::text) else {
        return login;
    };
    match kind {
        "noauth" => {}
        "bearer" => {
            if let Some(token) = value(context, auth, kind, "token") {
                login.header = Some(("Authorization".to_owned(), format!("Bearer {token}")));
            }
        }
        "basic" => basic(context, auth, &mut login),
        "apikey" => api_key(context, auth, &mut login),
        "oauth2" => oauth(context, auth, &mut login),
        other => context.lose(
            auth.at,
            &format!("auth {other}"),
            "a plan has no authentication that signs a request or answers a challenge",
            "send the header Authorization as the server accepts it: headers: { authorization: … }",
        ),
    }
    login
}

/// A value of an authorization: from its list (v2.1) or map (v2.0).
fn value(context: &mut Context<'_>, auth: &Located, kind: &str, key: &str) -> Option<String> {
    let values = auth.get(kind)?;
    let listed = values.items().iter().find(|entry| {
        let name = entry.get("key").and_then(Located::text);
        name == Some(key)
    });
    let found = listed
        .and_then(|entry| entry.get("value"))
        .or_else(|| values.get(key))?;
    let text = found.scalar()?;
    Some(context.resolved(found.at, &text, Place::Text))
}

fn basic(context: &mut Context<'_>, auth: &Located, login: &mut Login) {
    let user = value(context, auth, "basic", "username").unwrap_or_default();
    let password = value(context, auth, "basic", "password").unwrap_or_default();
    let whole = format!("{user}:{password}");
    let header = if Marks::are_in(&whole) {
        // The function `base64` takes one value: a variable of the user puts the two together.
        let name = context.variables.set_in_plan("$credentials");
        let set = StepDraft::Set(vec![(name.clone(), context.marks.template(&whole))]);
        login.before = Some(set.into());
        format!("Basic {}", context.marks.mark(&format!("base64({name})")))
    } else {
        context.secrets.basic(&mut context.marks, &whole)
    };
    login.header = Some(("Authorization".to_owned(), header));
}

fn api_key(context: &mut Context<'_>, auth: &Located, login: &mut Login) {
    let Some(name) = value(context, auth, "apikey", "key").filter(|name| !name.is_empty()) else {
        return;
    };
    let text = value(context, auth, "apikey", "value").unwrap_or_default();
    let place = value(context, auth, "apikey", "in").unwrap_or_default();
    let in_query = place == "query";
    let function = in_query.then_some("urlencode");
    let text = if Marks::are_in(&text) || text.is_empty() {
        match function {
            Some(_) => context.marks.percent_encoded(&text, COMPONENT),
            None => text,
        }
    } else {
        let expression = context
            .secrets
            .expression(&name, &text, &format!("the API key {name}"));
        let expression = match function {
            Some(function) => format!("{function}({expression})"),
            None => expression,
        };
        context.marks.mark(&expression).to_string()
    };
    if in_query {
        let name = context.marks.percent_encoded(&name, COMPONENT);
        login.query = Some(format!("{name}={text}"));
    } else {
        login.header = Some((name, text));
    }
}

fn oauth(context: &mut Context<'_>, auth: &Located, login: &mut Login) {
    let token = value(context, auth, "oauth2", "accessToken").unwrap_or_default();
    let prefix = value(context, auth, "oauth2", "headerPrefix");
    let place = value(context, auth, "oauth2", "addTokenTo").unwrap_or_default();
    let token = if token.is_empty() {
        context.lose(
            auth.at,
            "auth oauth2",
            "a plan does not get the access token of a user",
            "set ACCESS_TOKEN to one before a run",
        );
        let meaning = "the access token of OAuth 2";
        let expression = context.secrets.variable("ACCESS_TOKEN", meaning);
        context.marks.mark(&expression).to_string()
    } else {
        token
    };
    if place == "queryParams" {
        let token = context.marks.percent_encoded(&token, COMPONENT);
        login.query = Some(format!("access_token={token}"));
    } else {
        let prefix = prefix.unwrap_or_else(|| "Bearer".to_owned());
        let value = format!("{} {token}", prefix.trim());
        login.header = Some(("Authorization".to_owned(), value.trim_start().to_owned()));
    }
}
