//! Values of a script as far as they are known without running it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use oxc_ast::ast::{Expression, FormalParameters, FunctionBody};

use super::answer::Answer;
use super::comparison::Test;
use super::text::{Hole, Text};

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Rc<Text>),
    File(Rc<OpenedFile>),
    List(Rc<List<'a>>),
    Object(Rc<RefCell<Object<'a>>>),
    Function(Rc<Closure<'a>>),
    /// What k6 or the language brings, by its path: `http.get`, `Math.floor`.
    Native(Rc<str>),
    Regex(Rc<str>),
    /// An environment variable, and what stands for it when it is not set.
    Variable(Rc<str>, Option<Rc<str>>),
    Counter(Counter),
    Random(Random),
    /// A row of a data set that is known at run time.
    Row(Rc<Row<'a>>),
    /// Something of a response.
    Answer(usize, Rc<Answer>),
    /// True or false, known at run time.
    Test(Rc<Test<'a>>),
    /// A file of a multipart form.
    Part(Rc<FilePart>),
    /// A URL with the name under which its requests are counted.
    Url(Rc<(Text, Text)>),
    Socket(usize),
    /// Not known, and why.
    Unknown(Rc<str>),
}

/// An object: fields in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub(super) struct Object<'a> {
    pub(super) fields: Vec<(String, Value<'a>)>,
}

/// A list, and the file that it comes from as it is.
#[derive(Clone, Debug)]
pub(super) struct List<'a> {
    pub(super) items: RefCell<Vec<Value<'a>>>,
    pub(super) source: RefCell<Option<ListSource>>,
    /// Name that the script gave it.
    pub(super) name: RefCell<Option<String>>,
    /// Whether only its first rows were read.
    pub(super) is_cut: Cell<bool>,
}

/// A file with exactly the rows of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListSource {
    pub(super) path: String,
    /// The delimiter of a CSV file; JSON without.
    pub(super) delimiter: Option<char>,
}

/// A file that the script opened.
#[derive(Clone, Debug)]
pub(super) struct OpenedFile {
    pub(super) path: String,
    /// Its text, unless it is binary or cannot be read.
    pub(super) text: Option<Rc<str>>,
}

/// A function of the script, and where it was made.
#[derive(Clone, Debug)]
pub(super) struct Closure<'a> {
    /// None of a class.
    pub(super) parameters: Option<&'a FormalParameters<'a>>,
    pub(super) body: ClosureBody<'a>,
    pub(super) scope: usize,
    pub(super) module: usize,
    /// The class that it is, or whose parent `super` is.
    pub(super) class: Option<usize>,
}

/// The body of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClosureBody<'a> {
    Block(&'a FunctionBody<'a>),
    Expression(&'a Expression<'a>),
    /// Called with `new` only.
    Class,
}

/// A number that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) of: Counted,
    pub(super) plus: i64,
    /// The remainder by this number is meant.
    pub(super) modulo: Option<i64>,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// `__VU`, from 1.
    User,
    /// `__ITER`, from 0.
    Iteration,
    /// Iterations of all users, from 0.
    Total,
}

/// A random number between two bounds. Copies of one draw have one id.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Random {
    pub(super) low: f64,
    /// Included if it is whole.
    pub(super) high: f64,
    pub(super) is_whole: bool,
    pub(super) id: usize,
}

/// A row of a list that a plan takes from a data set.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    /// Name of the data set.
    pub(super) set: String,
    /// Keys down to this value, from the row.
    pub(super) keys: Vec<String>,
    /// What it is in the first row.
    pub(super) example: Value<'a>,
}

/// `http.file(…)`.
#[derive(Clone, Debug)]
pub(super) struct FilePart {
    pub(super) path: Option<String>,
    pub(super) text: Text,
    pub(super) name: String,
    pub(super) media_type: Option<String>,
}

impl Value<'_> {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Rc::new(Text::literal(text)))
    }

    pub(super) fn hole(hole: Hole) -> Self {
        Self::Text(Rc::new(Text::hole(hole)))
    }

    pub(super) fn native(path: impl Into<Rc<str>>) -> Self {
        Self::Native(path.into())
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(List {
            items: RefCell::new(items),
            source: RefCell::default(),
            name: RefCell::default(),
            is_cut: Cell::new(false),
        }))
    }

    pub(super) fn object(fields: Vec<(String, Self)>) -> Self {
        Self::Object(Rc::new(RefCell::new(Object { fields })))
    }

    pub(super) fn unknown(why: impl Into<Rc<str>>) -> Self {
        Self::Unknown(why.into())
    }

    /// The text, if it is known to be one.
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.constant(),
            Self::File(file) => file.text.as_deref(),
            _ => None,
        }
    }

    /// A field of an object.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        let Self::Object(object) = self else {
            return None;
        };
        object.borrow().get(name).cloned()
    }

    /// The fields of an object, the items of a list under their numbers; nothing of anything else.
    pub(super) fn entries(&self) -> Vec<(String, Self)> {
        match self {
            Self::Object(object) => object.borrow().fields.clone(),
            Self::List(list) => {
                let items = list.items.borrow();
                let numbered = items.iter().enumerate();
                numbered
                    .map(|(index, item)| (index.to_string(), item.clone()))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// The items of a list; nothing of anything else.
    pub(super) fn items(&self) -> Vec<Self> {
        match self {
            Self::List(list) => list.items.borrow().clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn is_function(&self) -> bool {
        matches!(self, Self::Function(_) | Self::Native(_))
    }

    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    /// Whether it counts as true; `None` if that is known at run time only.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Undefined | Self::Null => Some(false),
            Self::Bool(value) => Some(*value),
            Self::Number(number) => Some(*number != 0.0 && !number.is_nan()),
            Self::Text(text) => {
                if let Some(text) = text.constant() {
                    return Some(!text.is_empty());
                }
                let has_literal = text.pieces().len() > 1;
                has_literal.then_some(true)
            }
            Self::Variable(_, default) => {
                Some(default.as_ref().is_some_and(|text| !text.is_empty()))
            }
            Self::Answer(_, what) => matches!(
                **what,
                Answer::Whole | Answer::Headers | Answer::Cookies | Answer::Html { .. }
            )
            .then_some(true),
            Self::Counter(_) | Self::Random(_) | Self::Test(_) | Self::Unknown(_) => None,
            _ => Some(true),
        }
    }
}

impl<'a> Object<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.fields
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    pub(super) fn set(&mut self, name: &str, value: Value<'a>) {
        match self.fields.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.fields.push((name.to_owned(), value)),
        }
    }
}
