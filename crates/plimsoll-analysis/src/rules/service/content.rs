//! Pages whose weight takes the service's time.

use plimsoll_model::finding::{Evidence, Strength, Tier};
use plimsoll_model::histogram::Histogram;

use crate::content::{ContentWeight, PageRow, explain};
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::S11;
use crate::diagnosis::stretch::{Stretch3, View};

/// Good answers of a page in a stretch from which it has a time.
const ANSWERS_MIN: u64 = 10;
/// Pages in the evidence.
const PAGES_MAX: usize = 8;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    S11,
    "content weight: nodes and bytes of pages",
    &[Check {
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Change(heavy),
        words: heavy_words,
        remedy: "render less on the server: send what is visible at first, and let the browser load or render the rest; \
                 or keep rendered parts that many pages share",
        explains: &[],
    }],
)
.tried_on_series()
.with_role(Role::Addition)
.of_the_load()];

/// The median time of a page in a stretch, s.
fn time_s(view: &View<'_>, row: PageRow) -> Option<f64> {
    let mut times = Histogram::new();
    for window in view.windows() {
        let results = match row {
            PageRow::Url(row) => window.urls.get(&row),
            PageRow::Step(step) => window.steps.get(&step),
        };
        if let Some(results) = results {
            times.merge(&results.response);
        }
    }
    let median = times
        .quantile(0.5)
        .filter(|_| times.count() >= ANSWERS_MIN)?;
    Some(median as f64 / 1e6)
}

/// At low load where that was measured: waiting in queues is common to all pages, and does not show what one costs.
fn weight(over: &Stretch3<'_>) -> Option<ContentWeight> {
    let views = [&over.base, &over.passing, &over.failing];
    let mut measured = views.into_iter().filter(|view| !view.windows().is_empty());
    let lowest = measured.next()?;
    explain(over.pages, |row| time_s(lowest, row))
}

/// S11: the service time of the pages lies on a line through their nodes or bytes.
fn heavy(over: &Stretch3<'_>) -> Vec<Sign> {
    let found = weight(over);
    found
        .map(|weight| Sign::lone(weight.share, true))
        .into_iter()
        .collect()
}

fn heavy_words(case: &RuleMatch<'_>) -> Words {
    let Some(weight) = weight(case.over) else {
        return Words::new("the weight of the pages", String::new());
    };
    let limit = format!("the weight of the pages: their {}", weight.name());
    let words = Words::new(limit, weight.sentence());
    let pages = weight.pages.iter().take(PAGES_MAX);
    pages.fold(words, |words, (page, size, _)| {
        words.with(line(
            case.over,
            page,
            &format!("{size:.0} {}", weight.name()),
        ))
    })
}

/// Evidence: the median time of a page in the three stretches, with its weight as the label.
fn line(over: &Stretch3<'_>, page: &str, size: &str) -> Evidence {
    let row = over
        .pages
        .iter()
        .find(|it| it.page == page)
        .map(|it| it.row);
    let label = format!("median time of {page}, {size}");
    over.evidence((page, &label, "s"), |view| time_s(view, row?))
}
