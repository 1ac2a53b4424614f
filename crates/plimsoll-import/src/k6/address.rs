//! `URL` and `URLSearchParams` of the library module url.

use std::rc::Rc;

use url::form_urlencoded::byte_serialize;

use super::machine::Machine;
use super::text::Text;
use super::value::Value;

/// Fields that no script can name: the address of a `URL`, and the pairs of `URLSearchParams`.
const ADDRESS: &str = "\0address";
const PAIRS: &str = "\0pairs";
/// The parameters of a `URL`.
const PARAMETERS: &str = "searchParams";

impl<'a> Machine<'a, '_> {
    /// `new URL(address, base)`.
    pub(super) fn new_address(&mut self, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let mut address = Text::default();
        // With a base, the first is a path of it.
        for part in arguments.iter().take(2).rev() {
            address.push(&self.text_of(part, at));
        }
        Value::object(vec![
            (ADDRESS.to_owned(), Value::Text(Rc::new(address))),
            (PARAMETERS.to_owned(), Self::of_pairs(Vec::new())),
        ])
    }

    /// `new URLSearchParams(pairs)`.
    pub(super) fn new_parameters(&mut self, pairs: &Value<'a>, at: u32) -> Value<'a> {
        let pairs = match pairs {
            Value::Object(_) if pairs.field(PAIRS).is_none() => {
                let pair = |(key, value)| Value::list(vec![Value::text(key), value]);
                pairs.entries().into_iter().map(pair).collect()
            }
            Value::Object(_) => pairs.field(PAIRS).unwrap_or(Value::Undefined).items(),
            Value::List(_) => pairs.items(),
            Value::Undefined => Vec::new(),
            _ => {
                self.lose(
                    at,
                    "new URLSearchParams() of a text",
                    "only those of an object or a list are read",
                    "write the query into the URL",
                );
                Vec::new()
            }
        };
        Self::of_pairs(pairs)
    }

    fn of_pairs(pairs: Vec<Value<'a>>) -> Value<'a> {
        Value::object(vec![(PAIRS.to_owned(), Value::list(pairs))])
    }

    /// A `URL` or its parameters as text; `None` for other objects.
    pub(super) fn address_text(&mut self, object: &Value<'a>, at: u32) -> Option<Text> {
        if let Some(pairs) = object.field(PAIRS) {
            return Some(self.query_text(&pairs.items(), at));
        }
        let address = object.field(ADDRESS)?;
        let parameters = object.field(PARAMETERS)?;
        let mut text = self.text_of(&address, at);
        let query = self.address_text(&parameters, at)?;
        if !query.pieces().is_empty() {
            let shown = text.likely().unwrap_or_default();
            text.push(&Text::literal(if shown.contains('?') { "&" } else { "?" }));
            text.push(&query);
        }
        Some(text)
    }

    fn query_text(&mut self, pairs: &[Value<'a>], at: u32) -> Text {
        let mut query = Text::default();
        for pair in pairs {
            if let [key, value] = pair.items().as_slice() {
                if !query.pieces().is_empty() {
                    query.push(&Text::literal("&"));
                }
                query.push(&self.encoded_part(key, at));
                query.push(&Text::literal("="));
                query.push(&self.encoded_part(value, at));
            }
        }
        query
    }

    fn encoded_part(&mut self, value: &Value<'a>, at: u32) -> Text {
        let text = self.text_of(value, at);
        if let Some(constant) = text.constant() {
            return Text::literal(byte_serialize(constant.as_bytes()).collect::<String>());
        }
        let encoded = self.wrapped("urlencode", value, at);
        self.text_of(&encoded, at)
    }

    /// Whether an object is a `URL` or its parameters.
    pub(super) fn is_address(object: &Value<'a>) -> bool {
        object.field(ADDRESS).is_some() || object.field(PAIRS).is_some()
    }

    /// A method of a `URL` or of its parameters.
    pub(super) fn address_method(
        &mut self,
        object: &Value<'a>,
        name: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        if name == "toString" {
            return Value::Text(Rc::new(self.text_of(object, at)));
        }
        let Some(Value::List(pairs)) = object.field(PAIRS) else {
            return Value::unknown(format!("`{name}` of a URL"));
        };
        let key = arguments.first().and_then(|key| self.known_text(key));
        let is_key = |pair: &Value<'a>| {
            let first = pair.items().into_iter().next();
            key.is_some() && first.and_then(|first| self.known_text(&first)) == key
        };
        match name {
            "append" | "set" | "delete" => {
                if name != "append" {
                    pairs.items.borrow_mut().retain(|pair| !is_key(pair));
                }
                if let (true, [key, value, ..]) = (name != "delete", arguments) {
                    let pair = Value::list(vec![key.clone(), value.clone()]);
                    pairs.items.borrow_mut().push(pair);
                }
                Value::Undefined
            }
            "has" => Value::Bool(pairs.items.borrow().iter().any(is_key)),
            _ => Value::unknown(format!("`{name}` of URLSearchParams")),
        }
    }

    /// A property of a `URL`; `None` for other objects.
    pub(super) fn address_member(
        &mut self,
        object: &Value<'a>,
        name: &str,
        at: u32,
    ) -> Option<Value<'a>> {
        object.field(ADDRESS)?;
        match name {
            PARAMETERS => None,
            "href" => Some(Value::Text(Rc::new(self.address_text(object, at)?))),
            _ => Some(Value::unknown(format!("`{name}` of a URL"))),
        }
    }
}
