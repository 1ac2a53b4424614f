//! Variables of the environment that a plan needs before it runs.

use super::documents::Node;

/// Most that are noted one by one.
const NOTED_MAX: usize = 40;

/// What only the author knows.
#[derive(Clone, Debug)]
struct Variable<'d> {
    name: String,
    /// Where the document asks for it; `None` for a security scheme, which has one variable everywhere.
    at: Option<Node<'d>>,
    /// What it is, and why the import does not know it.
    meaning: String,
}

/// All variables of a plan.
#[derive(Debug, Default)]
pub(super) struct Variables<'d> {
    list: Vec<Variable<'d>>,
}

impl<'d> Variables<'d> {
    /// The variable for a value of this name at a place; equal places share one.
    pub(super) fn value(&mut self, name: &str, at: Node<'d>, meaning: String) -> String {
        let is_same = |known: &&Variable<'d>| known.at.is_some_and(|other| other.is_same(at));
        if let Some(known) = self.list.iter().find(is_same) {
            return known.name.clone();
        }
        self.add(name, Some(at), meaning)
    }

    /// The variable of a security scheme.
    pub(super) fn secret(&mut self, name: &str, meaning: String) -> String {
        let is_same = |known: &&Variable<'d>| known.at.is_none() && known.meaning == meaning;
        if let Some(known) = self.list.iter().find(is_same) {
            return known.name.clone();
        }
        self.add(name, None, meaning)
    }

    fn add(&mut self, name: &str, at: Option<Node<'d>>, meaning: String) -> String {
        let base = upper_snake(name);
        let mut name = base.clone();
        let mut number = 1;
        while self.list.iter().any(|known| known.name == name) {
            number += 1;
            name = format!("{base}_{number}");
        }
        self.list.push(Variable {
            name: name.clone(),
            at,
            meaning,
        });
        name
    }

    /// One sentence for each variable.
    pub(super) fn notes(&self, place: impl Fn(Node<'d>) -> String) -> Vec<String> {
        let mut notes: Vec<String> = self
            .list
            .iter()
            .take(NOTED_MAX)
            .map(|variable| {
                let Variable { name, at, meaning } = variable;
                let at = at.map(|at| format!(" ({})", place(at))).unwrap_or_default();
                format!("set `{name}` before a run: {meaning}{at}")
            })
            .collect();
        let more = self.list.len().saturating_sub(NOTED_MAX);
        if more > 0 {
            notes.push(format!(
                "set {} more; `plimsoll check` lists them",
                crate::counted(more, "variable")
            ));
        }
        notes
    }
}

/// A name of a document as a name of the environment: `petId` is `PET_ID`.
fn upper_snake(name: &str) -> String {
    let mut text = String::new();
    let mut was_lower = false;
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            if c.is_ascii_uppercase() && was_lower {
                text.push('_');
            }
            text.push(c.to_ascii_uppercase());
        } else if !text.is_empty() && !text.ends_with('_') {
            text.push('_');
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    let text = text.trim_end_matches('_');
    match text.chars().next() {
        None => "VALUE".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("VALUE_{text}"),
        Some(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_documents_become_names_of_the_environment() {
        for (name, expected) in [
            ("petId", "PET_ID"),
            ("api_key", "API_KEY"),
            ("X-API-Key", "X_API_KEY"),
            ("OAuth2", "OAUTH2"),
            ("filter[name]", "FILTER_NAME"),
            ("2fa", "VALUE_2FA"),
            ("äö", "VALUE"),
        ] {
            assert_eq!(upper_snake(name), expected, "{name}");
        }
    }
}
