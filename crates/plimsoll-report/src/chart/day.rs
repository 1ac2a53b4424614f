//! Charts over the clock of a log.

use maud::{Markup, html};

use super::axis::Axis;
use super::panel::{BOX_HEIGHT, ChartLine, horizontal_grid, path};
use super::percent_of;

/// Labels below a chart at most.
const LABELS_MAX: i64 = 8;
/// Steps between labels, minutes.
const LABEL_STEPS: [i64; 12] = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440];

/// Minutes of a log, several of which make a point where there are many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DayAxis {
    /// First minute, since 1970.
    from: i64,
    minutes: u32,
    step: u32,
}

/// One chart.
#[derive(Debug)]
pub(crate) struct DayChart {
    pub(crate) title: &'static str,
    pub(crate) lines: Vec<ChartLine>,
    pub(crate) axis: Axis,
    pub(crate) label: fn(f64) -> String,
}

impl DayAxis {
    /// From the first to the last minute, since 1970, in at most `points_max` points.
    pub(crate) fn new(first: i64, last: i64, points_max: u32) -> Self {
        let minutes = last.saturating_sub(first).saturating_add(1);
        let minutes = u32::try_from(minutes.max(1)).unwrap_or(u32::MAX);
        Self {
            from: first,
            minutes,
            step: minutes.div_ceil(points_max),
        }
    }

    /// Minutes in a point.
    pub(crate) fn step(&self) -> u32 {
        self.step
    }

    /// Points of values by minute since 1970, in order: means over the step. A minute without a value counts as
    /// `absent`; without one, as a gap.
    pub(crate) fn points(
        &self,
        values: impl IntoIterator<Item = (i64, f64)>,
        absent: Option<f64>,
    ) -> Vec<(u32, f64)> {
        let places = (self.minutes / self.step + 1) as usize;
        let (mut sums, mut counts) = (vec![0.0; places], vec![0_u32; places]);
        for (minute, value) in values {
            let Ok(offset) = u32::try_from(minute.saturating_sub(self.from)) else {
                continue;
            };
            if let Some(sum) = sums.get_mut((offset / self.step) as usize) {
                *sum += value;
                counts[(offset / self.step) as usize] += 1;
            }
        }
        let first_of = (0..self.minutes).step_by(self.step as usize);
        let points = first_of.zip(sums.into_iter().zip(counts));
        points
            .filter_map(|(offset, (sum, count))| {
                let minutes = self.step.min(self.minutes - offset);
                match absent {
                    Some(absent) => {
                        let missing = f64::from(minutes.saturating_sub(count));
                        Some((offset, (sum + missing * absent) / f64::from(minutes)))
                    }
                    None => (count > 0).then(|| (offset, sum / f64::from(count))),
                }
            })
            .collect()
    }

    /// A chart with the clock below it.
    pub(crate) fn draw(&self, chart: &DayChart) -> Markup {
        let names: Vec<&str> = chart.lines.iter().map(|line| line.name.as_str()).collect();
        html! {
            div.panel {
                h3 { (chart.title) }
                ul.legend aria-hidden="true" {
                    @for line in &chart.lines {
                        li {
                            svg.key width="22" height="10" { path class={ "line " (line.class) } d="M1 5H21" {} }
                            (line.name)
                        }
                    }
                }
                svg class="chart panel-0" role="img"
                    aria-label={ (chart.title) " over the day: " (names.join(", ")) } {
                    (horizontal_grid(&chart.axis, chart.label))
                    g.x-grid aria-hidden="true" {
                        @for (x, _) in self.labels() { line x1=(x) x2=(x) y1="0" y2="100%" {} }
                    }
                    svg.stretch viewBox={ "0 0 " (self.minutes) " " (BOX_HEIGHT) } preserveAspectRatio="none"
                        width="100%" height="100%" {
                        @for line in &chart.lines {
                            path class={ "line " (line.class) } d=(path(&line.points, self.step, &chart.axis)) {}
                        }
                    }
                }
                svg.chart.time-axis aria-hidden="true" {
                    @for (x, label) in self.labels() { text.x-label x=(x) y="14" { (label) } }
                }
            }
        }
    }

    /// Places and texts of round moments.
    fn labels(&self) -> Vec<(String, String)> {
        let minutes = i64::from(self.minutes);
        let step = LABEL_STEPS
            .into_iter()
            .find(|step| minutes / step <= LABELS_MAX)
            .unwrap_or_else(|| (minutes / LABELS_MAX / 1440 + 1) * 1440);
        let first = self.from + (step - self.from.rem_euclid(step)) % step;
        let mut labels = Vec::new();
        let mut minute = first;
        while minute <= self.from + minutes {
            let share = (minute - self.from) as f64 / f64::from(self.minutes);
            labels.push((percent_of(share), clock(minute, step)));
            minute += step;
        }
        labels
    }
}

/// A minute since 1970 as `06:30`, or as a date where labels are days.
fn clock(minute: i64, step: i64) -> String {
    let of_day = minute.rem_euclid(1440);
    if step >= 1440 {
        let moment = jiff::Timestamp::from_second(minute.saturating_mul(60));
        let text = moment.unwrap_or_default().to_string();
        return text.chars().take(10).collect();
    }
    format!("{:02}:{:02}", of_day / 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_means_of_their_minutes() {
        let axis = DayAxis::new(100, 105, 3);
        assert_eq!(axis.step(), 2);
        let values = [(100, 4.0), (101, 2.0), (103, 8.0), (99, 7.0), (900, 7.0)];
        assert_eq!(
            axis.points(values, Some(0.0)),
            [(0, 3.0), (2, 4.0), (4, 0.0)]
        );
        assert_eq!(axis.points(values, None), [(0, 3.0), (2, 8.0)]);
    }

    #[test]
    fn labels_are_round_moments() {
        let texts = |axis: DayAxis| -> Vec<String> {
            axis.labels().into_iter().map(|label| label.1).collect()
        };
        let day = texts(DayAxis::new(0, 1439, 720));
        assert_eq!(day[..2], ["00:00".to_owned(), "03:00".to_owned()]);
        assert_eq!(
            texts(DayAxis::new(61, 70, 720))[..2],
            ["01:02".to_owned(), "01:04".to_owned()]
        );
        let month = texts(DayAxis::new(0, 30 * 1440, 720));
        assert!(month.len() <= 10 && month[0] == "1970-01-01", "{month:?}");
    }
}
