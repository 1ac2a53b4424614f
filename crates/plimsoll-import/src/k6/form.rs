//! `res.submitForm()` and `res.clickLink()`: requests of what a page names.

use super::answer::Answer;
use super::machine::Machine;
use super::member::answer_of;
use super::value::Value;
use crate::script::draft::PickDraft;

impl<'a> Machine<'a, '_> {
    /// `res.submitForm({ formSelector, fields, params })`: the fields of the script, sent to the action of the form.
    pub(super) fn submit_form(
        &mut self,
        request: usize,
        options: Option<&Value<'a>>,
        at: u32,
    ) -> Value<'a> {
        let option = |name: &str| options.and_then(|options| options.field(name));
        let action = self.first_attribute(option("formSelector"), "form", "action");
        // A form without an action is sent to the page that it is on.
        let page = self.requests.get(request).map(|sent| sent.url.clone());
        if let (Some(hole), Some(page)) = (self.capture(request, &action), page)
            && !page.is_volatile()
        {
            self.default_capture(request, &hole.expression, &page);
        }
        self.lose(
            at,
            "the other fields and the method of the form of res.submitForm()",
            "they are known only when the page has come; the plan sends the fields of the script by POST",
            "write hidden fields into `form:`, captured with `css:`, and `get:` for a form of that method",
        );
        let fields = option("fields").unwrap_or_else(|| Value::object(Vec::new()));
        let parameters = option("params").unwrap_or(Value::Undefined);
        let url = answer_of(request, &action);
        self.request("POST", &url, &fields, &parameters, at)
    }

    /// `res.clickLink({ selector, params })`: a GET of the address of the link.
    pub(super) fn click_link(
        &mut self,
        request: usize,
        options: Option<&Value<'a>>,
        at: u32,
    ) -> Value<'a> {
        let option = |name: &str| options.and_then(|options| options.field(name));
        let link = self.first_attribute(option("selector"), "a[href]", "href");
        let parameters = option("params").unwrap_or(Value::Undefined);
        let url = answer_of(request, &link);
        self.request("GET", &url, &Value::Undefined, &parameters, at)
    }

    /// An attribute of the first element that a selector finds; of `usual` where the script names none.
    fn first_attribute(&self, selector: Option<Value<'a>>, usual: &str, attribute: &str) -> Answer {
        let selector = selector.and_then(|selector| self.known_text(&selector));
        Answer::HtmlText {
            selector: selector.unwrap_or_else(|| usual.to_owned()),
            attribute: Some(attribute.to_owned()),
            pick: PickDraft::First,
        }
    }
}
