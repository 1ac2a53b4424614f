//! A matrix on the terminal.

use plimsoll_analysis::experiment::effect::EffectVerdict;
use plimsoll_analysis::experiment::matrix::{Contrast, ContrastEffect};
use plimsoll_model::experiment::ExperimentEnd;

use super::charts::law_sentence;
use super::effects::{MissingPairs, effect_sentence, size_text};
use super::object::{BlockForecastObject, ForecastObject, MatrixFiles, TrialCounts, counts};
use super::{MatrixReport, meters};
use crate::number::{count, money, seconds, whole};
use crate::printable::printable;
use crate::text::Style;

/// Cells that are listed.
const CELLS_MAX: usize = 12;
/// Cells of which the cost is listed.
const COSTS_MAX: usize = 5;
/// Effects that are listed.
const EFFECTS_MAX: usize = 8;
/// Columns of the name of a cell.
const NAME_COLUMNS: usize = 40;

/// How many trials, how long they take and what they cost; before the start.
pub fn forecast_summary(forecast: &ForecastObject, colour: bool) -> String {
    let style = Style { colour };
    let cells = forecast.cells.len() as u64;
    let headline = format!(
        "{}: {} cells, {} trials each; {} trials with the reference trials",
        printable(&forecast.name),
        count(cells),
        count(forecast.trials_per_cell.into()),
        count(forecast.trials),
    );
    let mut lines = vec![style.paint("1", &headline)];
    for axis in &forecast.axes {
        let text = format!("{}: {}", axis.name, axis.levels.join(", "));
        lines.push(style.labelled("axis", &printable(&text)));
    }
    lines.push(style.labelled("time", &time_text(forecast)));
    if let Some(price) = price_text(forecast) {
        lines.push(style.labelled("price", &printable(&price)));
    }
    if forecast.trials_done > 0 {
        let text = format!("{} trials are in the log", count(forecast.trials_done));
        lines.push(style.labelled("done", &text));
    }
    lines.join("\n") + "\n"
}

fn time_text(forecast: &ForecastObject) -> String {
    let time = seconds(whole(forecast.seconds));
    let time = match forecast.within_s {
        Some(within) if within < forecast.seconds => format!(
            "{time} at most for all trials; the budget is {}, cells that are beaten are dropped",
            seconds(whole(within))
        ),
        _ if forecast.trials_done > 0 => {
            return format!("{time} in all, by the trials in the log");
        }
        _ => format!("{time} at most"),
    };
    format!("{time}, and the time to start services and to come to rest")
}

fn price_text(forecast: &ForecastObject) -> Option<String> {
    let price = forecast.price.as_ref()?;
    let value = format!("{} {}", money(price.value), price.currency);
    let mut text = if forecast.trials_done > 0 {
        format!("{value} in all, {} of it spent", money(price.spent))
    } else {
        format!("{value} at most for what the service holds")
    };
    if price.is_without_traffic {
        text.push_str("; requests and traffic come on top");
    }
    Some(text)
}

/// Time and price of all trials, by those of the first block.
pub fn block_forecast(forecast: BlockForecastObject, currency: Option<&str>) -> String {
    let time = seconds(whole(forecast.seconds));
    let price = forecast
        .price
        .zip(currency)
        .map_or_else(String::new, |(price, currency)| {
            format!(" and {} {}", money(price), printable(currency))
        });
    format!("{time}{price}")
}

/// What it took, beside what was forecast.
fn spent(report: &MatrixReport<'_>) -> String {
    let currency = report.spent.as_ref().map(|spent| spent.currency.as_str());
    let took = BlockForecastObject {
        seconds: report.seconds(),
        price: report.spent.as_ref().map(|spent| spent.price),
    };
    let took = block_forecast(took, currency);
    match report.forecast {
        Some(forecast) => format!(
            "{took}; forecast after the first block: {}",
            block_forecast(forecast, currency)
        ),
        None => took,
    }
}

/// The result in lines of about 100 columns.
pub fn summary(report: &MatrixReport<'_>, files: &MatrixFiles, colour: bool) -> String {
    let style = Style { colour };
    let mut lines = vec![style.paint("1", &sentence(report))];
    lines.extend(notices(report).iter().map(|text| style.paint("33", text)));
    lines.push(String::new());
    lines.extend(cells(report, style));
    lines.extend(costs(report));
    lines.extend(effects(report));
    lines.extend(laws(report));
    let meters = meters::lines(report);
    if !meters.is_empty() {
        lines.push(String::new());
        lines.extend(meters);
    }
    lines.push(String::new());
    lines.push(style.labelled("took", &spent(report)));
    let named = [
        ("page", &files.report),
        ("table", &files.csv),
        ("table", &files.parquet),
        ("log", &files.log),
    ];
    for (label, path) in named {
        if let Some(path) = path {
            lines.push(style.labelled(label, &path.display().to_string()));
        }
    }
    lines.join("\n") + "\n"
}

/// The answer in a sentence.
pub(super) fn sentence(report: &MatrixReport<'_>) -> String {
    let Some(metric) = &report.result.metric else {
        return "Nothing was measured: every trial failed or is void.".to_owned();
    };
    let best: Vec<usize> = (0..report.result.cells.len())
        .filter(|cell| report.result.cells[*cell].may_be_best)
        .collect();
    let name = MatrixReport::metric_text(metric);
    match best[..] {
        [] => format!("Too few trials to judge the cells by {name}."),
        [cell] => {
            let level = report.result.cells[cell].level;
            let value = level.map_or_else(String::new, |level| {
                format!(" of {}", report.value_text(metric, level))
            });
            format!(
                "{} has the best {name}{value}, with 95 % confidence.",
                printable(&report.cell_text(cell))
            )
        }
        _ => format!(
            "{} of {} cells may have the best {name}: these trials cannot tell them apart{}.",
            best.len(),
            report.result.cells.len(),
            leader(report, &best)
        ),
    }
}

/// Which of the best cells is ahead so far.
fn leader(report: &MatrixReport<'_>, best: &[usize]) -> String {
    let first = ranked(report).into_iter().find(|cell| best.contains(cell));
    let level = first.and_then(|cell| Some((cell, report.result.cells[cell].level?)));
    let metric = report.result.metric.as_deref().unwrap_or_default();
    level.map_or_else(String::new, |(cell, level)| {
        format!(
            ". Ahead so far: {}, {}",
            printable(&report.cell_text(cell)),
            report.value_text(metric, level)
        )
    })
}

/// What a reader has to know before the numbers.
pub(super) fn notices(report: &MatrixReport<'_>) -> Vec<String> {
    let TrialCounts {
        total,
        failed,
        void,
        ..
    } = counts(report);
    let mut notices = Vec::new();
    match report.state {
        ExperimentEnd::Complete => {}
        ExperimentEnd::Spent => notices.push(
            "The budget was spent before all trials: some cells have fewer than planned."
                .to_owned(),
        ),
        ExperimentEnd::Interrupted => notices
            .push("Interrupted: these are the trials so far; the same command resumes.".to_owned()),
    }
    if !report.dropped.is_empty() {
        notices.push(format!(
            "{} dropped by the race: another is better and costs no more.",
            match report.dropped.len() {
                1 => "1 cell was".to_owned(),
                cells => format!("{cells} cells were"),
            }
        ));
    }
    if failed > 0 {
        notices.push(format!(
            "The service failed in {} of {} trials.",
            count(failed),
            count(total)
        ));
    }
    if void > 0 {
        notices.push(format!(
            "{} of {} trials are void and count nowhere.",
            count(void),
            count(total)
        ));
    }
    if let Some(drift) = report.result.drift.filter(|drift| drift.is_shown()) {
        let metric = report.result.metric.as_deref().unwrap_or_default();
        notices.push(format!(
            "The machine drifted by {} from the first to the last reference trial; it is taken out.",
            size_text(metric, drift.change)
        ));
    }
    notices
}

/// Cells by their level, the best first; those that were never measured last.
pub(super) fn ranked(report: &MatrixReport<'_>) -> Vec<usize> {
    let level = |cell: &usize| report.result.cells[*cell].level;
    let mut cells: Vec<usize> = (0..report.result.cells.len()).collect();
    cells.sort_by(|a, b| match (level(a), level(b)) {
        (Some(a), Some(b)) if report.result.is_higher_better => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    cells
}

/// What is remarkable about a cell.
pub(super) fn remark(report: &MatrixReport<'_>, cell: usize) -> String {
    let result = &report.result.cells[cell];
    let mut remarks = Vec::new();
    if result.may_be_best {
        remarks.push("may be the best".to_owned());
    }
    if result.is_on_front {
        remarks.push("on the Pareto front".to_owned());
    }
    if result.is_beaten {
        remarks.push(if report.input.prices.is_some() {
            "not worth it".to_owned()
        } else {
            "another is better".to_owned()
        });
    }
    if report.dropped.contains(&cell) {
        remarks.push("dropped".to_owned());
    }
    if result.failed > 0 {
        remarks.push(match result.failed {
            1 => "failed once".to_owned(),
            failed => format!("failed {failed} times"),
        });
    }
    if result.void > 0 {
        remarks.push(format!("{} void", result.void));
    }
    remarks.join(", ")
}

/// The level of a cell with its interval.
pub(super) fn level_text(report: &MatrixReport<'_>, cell: usize) -> String {
    let result = &report.result.cells[cell];
    let Some((metric, level)) = report.result.metric.as_ref().zip(result.level) else {
        return "–".to_owned();
    };
    let value = report.value_text(metric, level);
    match result.interval {
        Some((low, high)) => format!(
            "{value} ({} to {})",
            report.value_text(metric, low),
            report.value_text(metric, high)
        ),
        None => value,
    }
}

fn cells(report: &MatrixReport<'_>, style: Style) -> Vec<String> {
    let ranked = ranked(report);
    let shown = &ranked[..ranked.len().min(CELLS_MAX)];
    let rows: Vec<[String; 2]> = shown
        .iter()
        .map(|&cell| [printable(&report.cell_text(cell)), level_text(report, cell)])
        .collect();
    let width = |column: usize, max: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0).min(max)
    };
    let (names, levels) = (width(0, NAME_COLUMNS), width(1, usize::MAX));
    let mut lines: Vec<String> = shown
        .iter()
        .zip(&rows)
        .map(|(&cell, [name, level])| {
            let line = format!("{name:<names$}  {level:<levels$}  {}", remark(report, cell));
            let code = if report.result.cells[cell].is_beaten {
                "2"
            } else {
                "0"
            };
            style.paint(code, line.trim_end())
        })
        .collect();
    if ranked.len() > CELLS_MAX {
        lines.push(format!(
            "… and {} more in the table",
            ranked.len() - CELLS_MAX
        ));
    }
    lines
}

/// What the load lines of the best cells cost.
fn costs(report: &MatrixReport<'_>) -> Vec<String> {
    let cells = ranked(report);
    let priced = cells.iter().filter_map(|&cell| {
        let cost = report.cost(cell)?;
        let name = report.cell_text(cell);
        Some(printable(&format!("{name} costs {}", cost.text())))
    });
    let mut lines: Vec<String> = priced.take(COSTS_MAX).collect();
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

fn effects(report: &MatrixReport<'_>) -> Vec<String> {
    let Some(found) = report.result.effects.first() else {
        return Vec::new();
    };
    let is_shown =
        |verdict: EffectVerdict| matches!(verdict, EffectVerdict::Better | EffectVerdict::Worse);
    let all = found.main.iter().chain(&found.interactions);
    let mut shown: Vec<_> = all.filter(|effect| is_shown(effect.verdict)).collect();
    shown.sort_by_key(|effect| matches!(effect.contrast, Contrast::Interaction { .. }));
    if shown.is_empty() {
        return undecided_effects(report, &found.main, &found.interactions);
    }
    let mut lines = vec![String::new()];
    lines.extend(
        shown
            .iter()
            .take(EFFECTS_MAX)
            .map(|effect| printable(&effect_sentence(report, &found.metric, effect))),
    );
    lines
}

/// That no change can be told from chance, and what would change that.
fn undecided_effects(
    report: &MatrixReport<'_>,
    main: &[ContrastEffect],
    interactions: &[ContrastEffect],
) -> Vec<String> {
    let all = main.len() + interactions.len();
    if all == 0 {
        return Vec::new();
    }
    let mut lines = vec![String::new()];
    let is_same = |found: &&ContrastEffect| found.verdict == EffectVerdict::Same;
    let same = main.iter().chain(interactions).filter(is_same).count();
    lines.push(if same == all {
        format!("No setting makes a difference of more than 3 % ({all} changes were judged).")
    } else {
        format!("No change is better or worse for certain ({all} were judged).")
    });
    let missing = [main, interactions].map(|found| MissingPairs::of(report, found));
    for (name, missing) in ["Settings", "Interactions"].into_iter().zip(missing) {
        if let Some(missing) = missing {
            lines.push(format!("{name}: {}", missing.sentence()));
        }
    }
    lines
}

fn laws(report: &MatrixReport<'_>) -> Vec<String> {
    let laws = report.result.laws.iter();
    laws.map(|law| law_sentence(report, law)).collect()
}
