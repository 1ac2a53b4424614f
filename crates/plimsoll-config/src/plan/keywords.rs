//! The list of all tables of keys, from which the JSON Schema and the reference page are made. Each stands beside its
//! reader.

use super::PLAN;
use super::answer::{CAPTURE, EXPECT, MATCH};
use super::body::{BODY_FILE, GRAPHQL, MULTIPART_PART};
use super::browser::BROWSER;
use super::data::DATA;
use super::journeys::JOURNEY;
use super::load::find::FIND;
use super::load::{LOAD, PHASE};
use super::polls::POLLED;
use super::process::PROCESS;
use super::sockets::{AWAIT, BEAT, DISCONNECT, MESSAGE, RECONNECT, SUBSCRIBE};
use super::steps::{CHOICE, RESOURCE, STEP};
use super::thresholds::ABORT;
use super::transport::TRANSPORT;
use super::watch::{AGENT, EXPORTER, GAUGE, WATCH};
use crate::distribution::THINK;
use crate::document::Shape::{Either, MapOf, Objective, Of, OneOrMore, Template, Text};
use crate::document::{KeywordTable, Shape};
use crate::price::{PER_HOUR, PRICE};

pub(crate) const HEADERS: Shape = MapOf(&Template);
pub(crate) const OBJECTIVE: Shape = OneOrMore(&Objective);
pub(crate) const THRESHOLDS: Shape = Either(&[OBJECTIVE, MapOf(&OBJECTIVE)]);
pub(crate) const PROCESS_SHAPE: Shape = Either(&[OneOrMore(&Text), Of(&PROCESS)]);

/// All tables, in the order of the reference.
pub(crate) static TABLES: [&KeywordTable; 33] = [
    &PLAN,
    &JOURNEY,
    &PROCESS,
    &STEP,
    &THINK,
    &CHOICE,
    &RESOURCE,
    &EXPECT,
    &MATCH,
    &CAPTURE,
    &BODY_FILE,
    &MULTIPART_PART,
    &GRAPHQL,
    &MESSAGE,
    &AWAIT,
    &SUBSCRIBE,
    &RECONNECT,
    &DISCONNECT,
    &BEAT,
    &POLLED,
    &DATA,
    &LOAD,
    &PHASE,
    &FIND,
    &ABORT,
    &TRANSPORT,
    &WATCH,
    &AGENT,
    &EXPORTER,
    &GAUGE,
    &BROWSER,
    &PRICE,
    &PER_HOUR,
];
