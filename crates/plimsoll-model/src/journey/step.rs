//! The kinds of steps.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    PollStep, SendStep, SlotId, SocketStep, StepId, SubscribeStep, TextTemplate, ThinkTime,
};
use crate::status::GoodStatus;

/// One step of a journey.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Sends a request.
    Request(Box<RequestStep>),
    /// Requests a page and, concurrently, its resources; it is done when all of them are.
    Page {
        /// The page itself.
        page: Box<RequestStep>,
        /// Its resources.
        resources: Resources,
    },
    /// Does nothing for a while.
    Think(ThinkTime),
    /// Repeats steps.
    Repeat {
        /// How often.
        times: RepeatRange,
        /// What.
        steps: Vec<Step>,
    },
    /// Takes one of several branches.
    Choose(Vec<Choice>),
    /// Takes one of two branches.
    If {
        /// The condition.
        condition: Condition,
        /// When it holds.
        then: Vec<Step>,
        /// When it does not.
        otherwise: Vec<Step>,
    },
    /// Steps that are also counted together: the time from the first to the last without thinking.
    Group {
        /// Counted under this id.
        id: StepId,
        /// What.
        steps: Vec<Step>,
    },
    /// Remembers a value.
    Set(SlotId, TextTemplate),
    /// Opens a WebSocket.
    Socket(Box<SocketStep>),
    /// Sends on it, awaits, or both.
    #[serde(rename = "say")]
    Send(Box<SendStep>),
    /// Listens to broadcasts on it.
    Subscribe(Box<SubscribeStep>),
    /// Takes steps once in each interval.
    Every {
        /// How often.
        interval: Duration,
        /// How long; `None` until the load ends.
        lasting: Option<Duration>,
        /// What.
        steps: Vec<Step>,
    },
    /// Closes the WebSocket with a code (RFC 6455, 7.4).
    Close(u16),
    /// Fetches messages by polling.
    Poll(Box<PollStep>),
}

/// How often steps are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatRange {
    /// At least.
    pub min: u32,
    /// At most; each time a number between the two is drawn.
    pub max: u32,
}

/// One branch of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Share beside the others' weights.
    pub weight: f64,
    /// Steps of the branch; may be empty.
    pub steps: Vec<Step>,
}

/// The condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Left side.
    pub left: TextTemplate,
    /// How the sides are compared.
    pub operator: Operator,
    /// Right side; unused by [`Operator::Truthy`].
    pub right: TextTemplate,
    /// Negates the condition.
    pub negated: bool,
}

/// How two texts are compared. The ordering comparisons use numbers where both sides are numbers, else bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// Neither empty, `0` nor `false`.
    Truthy,
    /// `==`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// The left contains the right.
    Contains,
    /// The left matches the right, a regular expression without holes.
    Matches,
}

/// One request and the handling of its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestStep {
    /// Counted under this id.
    pub id: StepId,
    /// Method, as in HTTP.
    pub method: String,
    /// Path and query, or a whole URL of an origin in [`super::Scenario::targets`].
    pub url: TextTemplate,
    /// Headers in order, beside the journey's; the last of a name wins.
    pub headers: Vec<(String, TextTemplate)>,
    /// Body.
    pub body: RequestBody,
    /// Redirects followed at most; 0 accepts a redirect as the response. Expectations judge the first response.
    pub follow: u32,
    /// Time-out of this step; `None` for the plan's.
    pub timeout: Option<Duration>,
    /// Values captured from the response.
    pub captures: Vec<Capture>,
    /// Expectations of a good response. Without an expectation of the status, `good` of the plan decides.
    pub expectations: Vec<Expectation>,
}

/// Body of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestBody {
    /// None.
    #[default]
    Empty,
    /// A text, JSON and GraphQL included: holes within JSON strings are escaped by the [`super::Function::Json`] that
    /// the reader of the plan wraps around them.
    Text {
        /// `Content-Type`, unless a header sets it.
        content_type: Option<String>,
        /// The text.
        text: TextTemplate,
    },
    /// `application/x-www-form-urlencoded`; names and values are encoded.
    Form(Vec<(String, TextTemplate)>),
    /// `multipart/form-data`.
    Multipart(Vec<MultipartPart>),
}

/// One part of a multipart body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MultipartPart {
    /// Field name.
    pub name: String,
    /// File name, for a file.
    pub file_name: Option<String>,
    /// `Content-Type` of the part.
    pub content_type: Option<String>,
    /// Content.
    pub content: TextTemplate,
}

/// What a page needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Requested once the page has been received.
    pub listed: Vec<RequestStep>,
    /// Also what the page names: images, styles, scripts of the same origin, counted together under this id.
    pub found: Option<StepId>,
    /// Concurrent connections for them.
    pub connections: u32,
}

/// A value kept of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Where it is kept.
    pub slot: SlotId,
    /// Its source.
    pub from: Extractor,
    /// Which of several.
    pub pick: Pick,
    /// Default when nothing is found; without it, finding nothing ends the iteration as a failed expectation.
    pub default: Option<TextTemplate>,
}

/// Source of a value in a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extractor {
    /// First group of a regular expression, or the whole match, in the body.
    Regex(String),
    /// JSON path (RFC 9535) in the body.
    Json(String),
    /// CSS selector in the body, an HTML page: the attribute, or the text.
    Css {
        /// The selector.
        selector: String,
        /// The attribute, `None` for the text.
        attribute: Option<String>,
    },
    /// A header, by name in lower case.
    Header(String),
    /// A cookie that the user holds after the answer.
    Cookie(String),
}

/// Which of several values is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// The first.
    #[default]
    First,
    /// The last.
    Last,
    /// Any, drawn from the seed.
    Random,
    /// The one of this number, from 1.
    Nth(u32),
}

/// An expectation of a good response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// One of these statuses.
    Status(GoodStatus),
    /// A header, by name in lower case; `location` is compared as written and, when the other side is a path, by its
    /// path and query.
    Header(String, TextMatch),
    /// The body.
    Body(TextMatch),
    /// The first value that a JSON path (RFC 9535) finds in the body.
    Json(String, TextMatch),
    /// Response time at most.
    Within(Duration),
}

/// The condition of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextMatch {
    /// Is there.
    Present,
    /// Is not there.
    Absent,
    /// Equals.
    Equals(TextTemplate),
    /// Contains.
    Contains(TextTemplate),
    /// Does not contain.
    Lacks(TextTemplate),
    /// Matches a regular expression.
    Regex(String),
}
