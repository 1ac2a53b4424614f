//! Good answers and response time against the offered rate, as the study drew them: an SVG that stands alone.

use std::fmt::Write as _;

use super::measure::RateSample;
use super::report::Sweep;
use super::study::{ArticleBody, ArticlesSetup};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 620.0;
/// Of both panels, left to right.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 704.0;
/// From the highest value of a panel to its lowest.
const ANSWERED: (f64, f64) = (48.0, 290.0);
const TIME: (f64, f64) = (340.0, 580.0);

/// Rates are drawn up to here, requests a second.
const RATE_MAX: f64 = 1_500.0;
/// Times are drawn by their logarithm, between these, ms.
const TIME_MIN: f64 = 0.1;
const TIME_MAX: f64 = 10_000.0;

fn color(way: ArticlesSetup) -> &'static str {
    match way {
        ArticlesSetup::Alone => "#c0331f",
        ArticlesSetup::Edge => "#8a5a00",
        ArticlesSetup::Cached => "#0a5a92",
    }
}

fn x(rate: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * (rate / RATE_MAX).clamp(0.0, 1.05)
}

fn y_answered(rate: f64) -> f64 {
    ANSWERED.1 + (ANSWERED.0 - ANSWERED.1) * (rate / RATE_MAX).clamp(0.0, 1.05)
}

fn y_time(ms: f64) -> f64 {
    let share = (ms.clamp(TIME_MIN, TIME_MAX) / TIME_MIN).log10() / (TIME_MAX / TIME_MIN).log10();
    TIME.1 + (TIME.0 - TIME.1) * share
}

/// The drawing of one body.
pub(super) fn draw(body: ArticleBody, sweeps: &[Sweep]) -> String {
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#15212c\">\n<title>{}: good answers and response time against the offered rate</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n",
        body.title()
    );
    axes(&mut text);
    // Where everything that is offered is answered.
    line(
        &mut text,
        (x(0.0), y_answered(0.0)),
        (x(RATE_MAX), y_answered(RATE_MAX)),
        "#7b8794",
    );
    let sweeps = sweeps.iter().filter(|sweep| sweep.body == body);
    for (place, sweep) in sweeps.enumerate() {
        let color = color(sweep.way);
        curve(&mut text, sweep, color, |sample| {
            Some(y_answered(sample.answered))
        });
        curve(&mut text, sweep, color, |sample| sample.p50_ms.map(y_time));
        let across = LEFT + 8.0 + 220.0 * place as f64;
        push(
            &mut text,
            format_args!(
                "<rect x=\"{across}\" y=\"10\" width=\"12\" height=\"12\" fill=\"{color}\"/>\n\
                 <text x=\"{}\" y=\"21\">{}</text>",
                across + 18.0,
                sweep.way.title()
            ),
        );
    }
    text.push_str("</svg>\n");
    text
}

fn axes(text: &mut String) {
    for rate in [0.0, 250.0, 500.0, 750.0, 1000.0, 1250.0, 1500.0] {
        for (top, bottom) in [ANSWERED, TIME] {
            line(text, (x(rate), top), (x(rate), bottom), "#e6e8ea");
            label(text, (x(rate), bottom + 16.0), "middle", &rate.to_string());
        }
        line(
            text,
            (LEFT, y_answered(rate)),
            (RIGHT, y_answered(rate)),
            "#e6e8ea",
        );
        label(
            text,
            (LEFT - 6.0, y_answered(rate) + 4.0),
            "end",
            &rate.to_string(),
        );
    }
    for ms in [0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0] {
        line(text, (LEFT, y_time(ms)), (RIGHT, y_time(ms)), "#e6e8ea");
        label(text, (LEFT - 6.0, y_time(ms) + 4.0), "end", &ms.to_string());
    }
    label(
        text,
        (LEFT, ANSWERED.0 - 8.0),
        "start",
        "good answers a second",
    );
    label(
        text,
        (LEFT, TIME.0 - 8.0),
        "start",
        "median response time, ms",
    );
    label(
        text,
        (RIGHT, TIME.1 + 32.0),
        "end",
        "requests offered a second",
    );
}

/// The valid points in their order, joined.
fn curve(text: &mut String, sweep: &Sweep, color: &str, y: impl Fn(&RateSample) -> Option<f64>) {
    let valid = sweep.samples.iter().filter(|sample| sample.void.is_none());
    let points: Vec<(f64, f64)> = valid
        .filter_map(|sample| Some((x(sample.offered), y(sample)?)))
        .collect();
    let joined: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    push(
        text,
        format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
            joined.join(" ")
        ),
    );
    for (x, y) in points {
        push(
            text,
            format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{color}\"/>"),
        );
    }
}

fn line(text: &mut String, from: (f64, f64), to: (f64, f64), color: &str) {
    push(
        text,
        format_args!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{color}\"/>",
            from.0, from.1, to.0, to.1
        ),
    );
}

fn label(text: &mut String, at: (f64, f64), anchor: &str, words: &str) {
    push(
        text,
        format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{words}</text>",
            at.0, at.1
        ),
    );
}

fn push(text: &mut String, element: std::fmt::Arguments<'_>) {
    writeln!(text, "{element}").expect("a string takes every character");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_void_rate_is_not_drawn_and_the_scales_hold_all() {
        let sample = |offered, void: Option<&str>| RateSample {
            offered,
            answered: offered,
            failed: 0.0,
            p50_ms: Some(1.0),
            p95_ms: None,
            void: void.map(str::to_owned),
        };
        let sweep = Sweep {
            body: ArticleBody::Page,
            way: ArticlesSetup::Cached,
            samples: vec![sample(50.0, None), sample(1_500.0, Some("it lagged"))],
        };
        let drawing = draw(ArticleBody::Page, &[sweep]);
        assert_eq!(drawing.matches("<circle").count(), 2, "{drawing}");
        assert!(draw(ArticleBody::Short, &[]).ends_with("</svg>\n"));
        assert!((y_time(0.0) - TIME.1).abs() < 1e-9);
        assert!((y_time(1e6) - TIME.0).abs() < 1e-9);
        assert!((y_answered(1_500.0) - ANSWERED.0).abs() < 1e-9);
    }
}
