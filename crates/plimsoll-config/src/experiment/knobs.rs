//! Reads knobs: what `plimsoll tune` varies to find the best setting.

mod range;

use std::collections::{BTreeSet, HashSet};

use plimsoll_model::experiment::{
    AXES_MAX, Axis, CellList, Design, KNOB_LEVELS_MAX, Knob, LevelText, PRODUCT_MAX, PerCell, Setup,
};

use super::axes::{DesignRead, Varied, check_name, geometric, level_texts};
use super::numbers::{Dimension, number};
use crate::document::Shape::{ListOf, Range, Text};
use crate::document::{
    DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, count, one_of, settings,
    switch, text,
};
use range::KnobRange;

/// Distances between the levels of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnobScale {
    Geometric,
    Linear,
}

settings! {
    /// What `plimsoll tune` varies: a range, or a list of values. With `default` alone, the range is from a quarter of it to four
    /// times of it.
    struct KnobSettings, KNOB "knob" {
        /// Lowest and highest level: `1..64`. Both may have the same unit: `1GiB..16GiB`.
        "range": Range;
        /// Levels, instead of a range: 2 to 16.
        "values": ListOf(&Text);
        /// Distances of the levels of a range: equal ratios, or equal differences.
        scale: KnobScale = KnobScale::Geometric, "scale": one_of![
            "geometric" => KnobScale::Geometric,
            "linear" => KnobScale::Linear,
        ];
        /// Levels of a range at most, of which the ends and the default are always some. Default: the default halved and
        /// doubled, where at most 8 levels are enough for the range; else 8.
        levels: Option<u32> = None, "levels": count(3..=16);
        /// The level that stands today. Default: the first.
        "default": Text;
        /// A level that usually suffices: the first settings that are tried have it; in the second, the first three such knobs have their highest level.
        "usual": Text;
        /// Whether the service restarts for another level. Default: whether a level is part of what is started.
        restart: Option<bool> = None, "restart": switch();
        /// What the knob does, in a sentence for the report.
        meaning: Option<String> = None, "meaning": text("a sentence");
    }
}

const VALID: &str =
    "knobs with levels, such as workers: { range: 1..64, default: 4 } or cache: [off, on]";
/// What has no meaning for a search.
const REFUSED: [(&str, &str); 5] = [
    ("zip", "`constraints` between knobs"),
    ("exclude", "`constraints` between knobs"),
    ("only_if", "all knobs, always"),
    (
        "trials",
        "no number: the search decides which settings are repeated",
    ),
    ("order", "no order: settings are measured in random order"),
];

/// The knobs of a file.
pub(super) struct KnobsRead<'n> {
    node: &'n DocumentNode,
    knobs: Vec<Knob>,
    /// What the file says about restarts, for each knob.
    restarts: Vec<Option<bool>>,
    pub(super) has_errors: bool,
}

/// The levels of a knob.
struct KnobLevels {
    texts: Vec<String>,
    default: usize,
    is_ordered: bool,
}

/// Reads `knobs`; `None` when the file has none.
pub(super) fn knobs<'n>(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'n>,
) -> Option<KnobsRead<'n>> {
    let errors_before = reader.diagnostics_len();
    let Some(node) = fields.get("knobs") else {
        if !fields.misspells(&["knobs"]) {
            for (key, _) in fields.among(&["constraints", "quantities"]) {
                let message = format!("`{}` has no effect without `knobs`", key.text);
                let valid = "knobs: { workers: { range: 1..64, default: 4 } }";
                reader.report_at(key.span.start, message, valid, None);
            }
        }
        return None;
    };
    if let Some((key, _)) = fields.entry("axes") {
        let message = "`axes` and `knobs` are mutually exclusive";
        let valid = "`axes` for `plimsoll matrix`, `knobs` for `plimsoll tune`";
        reader.report_at(key.span.start, message, valid, None);
    }
    for (key, _) in fields.among(&REFUSED.map(|(key, _)| key)) {
        let valid = REFUSED.iter().find(|(refused, _)| *refused == key.text);
        let valid = valid.map_or("", |(_, valid)| valid);
        let message = format!("`{}` has no effect on knobs", key.text);
        reader.report_at(key.span.start, message, valid, None);
    }
    let mut read = KnobsRead {
        node,
        knobs: Vec::new(),
        restarts: Vec::new(),
        has_errors: false,
    };
    read.add_all(reader);
    read.has_errors = reader.diagnostics_len() > errors_before;
    Some(read)
}

impl KnobsRead<'_> {
    fn add_all(&mut self, reader: &DocumentReader<'_>) {
        let entries = reader.entries(self.node, VALID).unwrap_or_default();
        if entries.is_empty() && matches!(self.node.kind, NodeKind::Map(_)) {
            reader.report(self.node, "there are no knobs", VALID);
        }
        if entries.len() > AXES_MAX {
            let message = format!("there are {} knobs", entries.len());
            reader.report(self.node, message, format!("at most {AXES_MAX}"));
        }
        for (key, value) in entries.iter().take(AXES_MAX) {
            check_name(reader, key, "a knob");
            // A duplicate key has its own error. An invalid knob is kept, so that its uses are not unknown.
            if self.knobs.iter().all(|knob| knob.name != key.text) {
                self.add(reader, &key.text, value);
            }
        }
    }

    fn add(&mut self, reader: &DocumentReader<'_>, name: &str, node: &DocumentNode) {
        let mut usual = None;
        let (levels, settings) = match &node.kind {
            NodeKind::List(_) => (listed(reader, node, None), None),
            NodeKind::Map(_) => match reader.fields(node, &KNOB) {
                Some(fields) => {
                    let settings = KnobSettings::read(reader, &fields);
                    let levels = knob_levels(reader, &fields, &settings);
                    usual = fields
                        .get("usual")
                        .zip(levels.as_ref())
                        .and_then(|(node, levels)| level_index(reader, node, &levels.texts));
                    (levels, Some(settings))
                }
                None => (None, None),
            },
            NodeKind::Scalar { .. } => {
                let valid = "a list of levels, { range: 1..64, default: 4 } or { default: 4 }";
                reader.report(node, "not the levels of a knob", valid);
                (None, None)
            }
        };
        let levels = levels.unwrap_or(KnobLevels {
            texts: Vec::new(),
            default: 0,
            is_ordered: false,
        });
        let settings = settings.unwrap_or_else(KnobSettings::defaults);
        self.restarts.push(settings.restart);
        self.knobs.push(Knob {
            name: name.to_owned(),
            numbers: levels
                .texts
                .iter()
                .map(|level| number(level).map(|(number, _)| number))
                .collect(),
            levels: levels.texts,
            default: levels.default,
            usual,
            is_ordered: levels.is_ordered,
            needs_restart: false,
            meaning: settings.meaning,
        });
    }

    /// The knobs as axes, of which every combination is a cell.
    pub(super) fn design(&self, reader: &DocumentReader<'_>) -> DesignRead {
        let axes = self.knobs.iter();
        let axes = axes.map(|knob| Axis::new(knob.name.clone(), knob.levels.clone()));
        let design = Design::new(axes.collect());
        let mut cells = CellList::Product;
        if self.has_errors {
            // What follows from errors of the knobs is not reported.
            cells = CellList::Listed(Vec::new());
        } else if design.product_len().is_none() {
            let message = "the knobs have too many combinations of levels";
            let valid = format!("at most {PRODUCT_MAX}; fewer knobs, or fewer levels");
            reader.report(self.node, message, valid);
            cells = CellList::Listed(Vec::new());
        }
        DesignRead {
            varied: Varied::Knobs,
            design,
            cells,
        }
    }

    /// The knobs of services that are applied by `setups`.
    pub(super) fn into_knobs(self, setups: &[Setup]) -> Vec<Knob> {
        let started = started_with(setups);
        let knobs = self.knobs.into_iter().zip(self.restarts).enumerate();
        knobs
            .map(|(axis, (knob, restart))| Knob {
                needs_restart: restart.unwrap_or_else(|| started.contains(&axis)),
                ..knob
            })
            .collect()
    }
}

fn knob_levels(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    settings: &KnobSettings,
) -> Option<KnobLevels> {
    let Some(values) = fields.get("values") else {
        return ranged(reader, fields, settings);
    };
    for (key, _) in fields.among(&["range", "scale", "levels"]) {
        let message = format!("`{}` has no effect on `values`", key.text);
        let valid = "`range` with `scale` and `levels`, or `values`";
        reader.report_at(key.span.start, message, valid, None);
    }
    listed(reader, values, fields.get("default"))
}

/// Levels of a list.
fn listed(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    default: Option<&DocumentNode>,
) -> Option<KnobLevels> {
    let items = reader.list(node, "levels");
    if !(2..=KNOB_LEVELS_MAX).contains(&items.len()) {
        if matches!(node.kind, NodeKind::List(_)) {
            let levels = if items.len() == 1 { "level" } else { "levels" };
            let message = format!("the knob has {} {levels}", items.len());
            reader.report(node, message, format!("2 to {KNOB_LEVELS_MAX} levels"));
        }
        return None;
    }
    let texts = level_texts(reader, items);
    if texts.len() < items.len() {
        return None;
    }
    let mut known = HashSet::new();
    for (item, level) in items.iter().zip(&texts) {
        if !known.insert(level) {
            let message = format!("duplicate level `{level}`");
            reader.report(item, message, "each level once");
        }
    }
    let default = match default {
        None => 0,
        Some(node) => level_index(reader, node, &texts)?,
    };
    Some(KnobLevels {
        is_ordered: is_ascending(&texts),
        texts,
        default,
    })
}

/// Index of a level that the file names.
fn level_index(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    levels: &[String],
) -> Option<usize> {
    let text = reader.word(node, "a level of the knob")?;
    let found = levels.iter().position(|level| *level == text);
    if found.is_none() {
        let names: Vec<&str> = levels.iter().map(String::as_str).collect();
        reader.unknown(&node.span, "level", &text, &names);
    }
    found
}

/// Whether levels are numbers of one dimension, each above the one before.
fn is_ascending(texts: &[String]) -> bool {
    let numbers: Option<Vec<(f64, Dimension)>> = texts.iter().map(|text| number(text)).collect();
    numbers.is_some_and(|numbers| {
        let mut pairs = numbers.windows(2);
        pairs.all(|pair| pair[0].0 < pair[1].0 && pair[0].1.fits(pair[1].1))
    })
}

/// Levels of a range, or around a default.
fn ranged(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    settings: &KnobSettings,
) -> Option<KnobLevels> {
    let scale = settings.scale;
    let default = fields.get("default");
    let range = match (fields.get("range"), default) {
        (Some(range), _) => {
            reader.value(range, geometric::VALID, |text| KnobRange::of(text, scale))?
        }
        (None, Some(default)) => reader.value(default, "a number above 0", |text| {
            KnobRange::around(text, scale)
        })?,
        (None, None) => {
            if !fields.misspells(&["range", "values", "default"]) {
                let valid = "`range`, `values` or `default`";
                reader.report(fields.node, "the knob has no levels", valid);
            }
            return None;
        }
    };
    let default = match default {
        None => range.low(),
        Some(node) => reader.value(node, "a level", |text| range.number(text))?,
    };
    let (texts, default) = range.levels(default, settings.levels);
    Some(KnobLevels {
        texts,
        default,
        is_ordered: true,
    })
}

/// The axes whose levels are part of what is started.
fn started_with(setups: &[Setup]) -> BTreeSet<usize> {
    let mut axes = BTreeSet::new();
    for setup in setups {
        let source = setup.source.as_ref().map(|source| &source.revision);
        let environment = setup.env.iter().map(|(_, text)| text);
        let texts = setup.command.iter().chain(environment);
        let texts = texts.chain(&setup.folder).chain(source).chain(&setup.edge);
        axes.extend(texts.flat_map(LevelText::axes));
        let limits = [
            setup.processes.as_ref().map(PerCell::axes),
            setup.cpus.as_ref().map(PerCell::axes),
            setup.memory.as_ref().map(PerCell::axes),
        ];
        axes.extend(limits.into_iter().flatten().flatten().copied());
    }
    axes
}
