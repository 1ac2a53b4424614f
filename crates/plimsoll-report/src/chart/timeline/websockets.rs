//! Panels of WebSockets, for runs that have any.

use plimsoll_analysis::summary::timeline::{Timeline, WebSocketPoint};

use super::{ChartLine, Panel, from_zero};
use crate::number::{micros_of, short};

pub(super) fn open(timeline: &Timeline) -> Option<Panel> {
    let lines = vec![line("open", "l-completed", timeline, |point| {
        Some(point.open_max as f64)
    })];
    from_zero("WebSockets", lines, short)
}

pub(super) fn messages(timeline: &Timeline) -> Option<Panel> {
    let lines = vec![
        line("sent/s", "l-offered", timeline, |point| {
            Some(point.messages_out)
        }),
        line("received/s", "l-completed", timeline, |point| {
            Some(point.messages_in)
        }),
    ];
    from_zero("Messages", lines, short)
}

pub(super) fn broadcasts(timeline: &Timeline) -> Option<Panel> {
    let lines = vec![
        line("broadcast p99", "l-p99", timeline, |point| {
            Some(point.broadcast_us?.p99 as f64)
        }),
        line("broadcast p50", "l-p50", timeline, |point| {
            Some(point.broadcast_us?.p50 as f64)
        }),
    ];
    from_zero("Broadcast latency", lines, micros_of)
}

fn line(
    name: &str,
    class: &'static str,
    timeline: &Timeline,
    pick: fn(&WebSocketPoint) -> Option<f64>,
) -> ChartLine {
    let points = timeline.points.iter();
    let points = points.filter_map(|point| Some((point.second, pick(point.websocket.as_ref()?)?)));
    ChartLine {
        name: name.to_owned(),
        class,
        points: points.collect(),
    }
}
