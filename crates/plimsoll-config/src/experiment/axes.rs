//! Reads axes, and how they are combined.

pub(super) mod geometric;

use std::collections::HashSet;

use plimsoll_model::experiment::{
    AXES_MAX, Axis, CANDIDATES_MAX, CELLS_MAX, CellList, Condition, ConditionTerm, Design,
    DesignError, LEVELS_MAX, OnlyIf,
};

use super::required;
use crate::document::Shape::Range;
use crate::document::{
    DocumentKey, DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, number,
    settings,
};

settings! {
    /// An axis whose levels are a geometric sequence.
    struct AxisSettings, AXIS "axis" {
        /// First and last level: `1..16` is 1, 2, 4, 8, 16. Both may have the same unit: `1GiB..16GiB`.
        "geom": Range;
        /// Ratio of a level to the one before it, above 1.
        factor: f64 = 2.0, "factor": number();
    }
}

/// Longest level, bytes.
const LEVEL_LEN_MAX: usize = 1000;
/// Conditions of `exclude` at most.
const CONDITIONS_MAX: usize = 1000;

/// What a file varies, for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Varied {
    /// `axes`, whose cells are listed.
    Axes,
    /// `knobs`, whose levels are searched.
    Knobs,
}

impl Varied {
    /// The key of the file.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Axes => "axes",
            Self::Knobs => "knobs",
        }
    }

    /// What is varied.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Axes => "axis",
            Self::Knobs => "knob",
        }
    }
}

/// The design of a file. Its list of cells is empty when there are errors in it.
pub(super) struct DesignRead {
    pub(super) varied: Varied,
    pub(super) design: Design,
    pub(super) cells: CellList,
}

impl Default for DesignRead {
    fn default() -> Self {
        Self {
            varied: Varied::Axes,
            design: Design::default(),
            cells: CellList::Listed(Vec::new()),
        }
    }
}

/// Reads `axes`, `zip`, `exclude` and `only_if`.
pub(super) fn design(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> DesignRead {
    let errors_before = reader.diagnostics_len();
    let Some(node) = fields.get("axes") else {
        if !fields.misspells(&["axes", "knobs"]) {
            let valid = "axes: { workers: [1, 2, 4] }; or `knobs`, for `plimsoll tune`";
            reader.report(fields.node, "`axes` is missing", valid);
        }
        return DesignRead::default();
    };
    let axes = axes(reader, node);
    let axis_reader = AxisReader {
        reader,
        axes: &axes,
    };
    let zip = fields.get("zip").map(|node| axis_reader.zip(node));
    let zip = zip.unwrap_or_default();
    axis_reader.check_duplicates(node, &zip);
    let exclude = fields.get("exclude").map(|node| axis_reader.exclude(node));
    let only_if = fields.get("only_if").map(|node| axis_reader.only_if(node));
    let has_errors = reader.diagnostics_len() > errors_before;
    let design = Design::new(axes)
        .zipped(zip)
        .excluding(exclude.unwrap_or_default())
        .varying_only(only_if.unwrap_or_default());
    if has_errors {
        // What follows from errors of the axes is not reported.
        return DesignRead {
            design,
            ..DesignRead::default()
        };
    }
    let cells = match design.cells() {
        Ok(cells) => cells,
        Err(error) => {
            let valid = match error {
                DesignError::TooManyCandidates => {
                    format!("at most {CANDIDATES_MAX}; fewer levels, or `zip`")
                }
                DesignError::TooManyCells => {
                    format!("at most {CELLS_MAX}; fewer levels, `zip`, `exclude` or `only_if`")
                }
                DesignError::NoCells => "fewer conditions in `exclude`".to_owned(),
                DesignError::UnequalZip | DesignError::ZippedTwice => {
                    "each axis once in `zip`, with equally many levels".to_owned()
                }
            };
            reader.report(node, error.to_string(), valid);
            Vec::new()
        }
    };
    DesignRead {
        varied: Varied::Axes,
        design,
        cells: CellList::Listed(cells),
    }
}

fn axes(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<Axis> {
    const VALID: &str = "axes with levels, such as workers: [1, 2, 4]";
    let entries = reader.entries(node, VALID).unwrap_or_default();
    if entries.is_empty() && matches!(node.kind, NodeKind::Map(_)) {
        reader.report(node, "there are no axes", VALID);
    }
    if entries.len() > AXES_MAX {
        let message = format!("there are {} axes", entries.len());
        reader.report(node, message, format!("at most {AXES_MAX}"));
    }
    let mut axes: Vec<Axis> = Vec::new();
    for (key, value) in entries.iter().take(AXES_MAX) {
        check_name(reader, key, "an axis");
        // A duplicate key has its own error. An invalid axis is kept, so that its uses are not unknown.
        if axes.iter().all(|axis| axis.name() != key.text) {
            axes.push(Axis::new(key.text.clone(), levels(reader, value)));
        }
    }
    axes
}

/// Names must be valid in placeholders; `what` has one.
pub(super) fn check_name(reader: &DocumentReader<'_>, key: &DocumentKey, what: &str) {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let begins = key.text.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || key.text.len() > 64 || !key.text.chars().all(is_safe) {
        let message = format!("`{}` is not a valid name of {what}", key.text);
        let valid = "1 to 64 letters, digits, `_` and `-`, beginning with a letter";
        reader.report_at(key.span.start, message, valid, None);
    }
}

fn levels(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<String> {
    const VALID: &str = "a list of levels, such as [1, 2, 4], or { geom: 1..16 }";
    let items = match &node.kind {
        NodeKind::Map(_) => return geometric_levels(reader, node).unwrap_or_default(),
        NodeKind::List(items) => items,
        NodeKind::Scalar { .. } => {
            reader.report(node, "not a list of levels", VALID);
            return Vec::new();
        }
    };
    if items.is_empty() {
        reader.report(node, "the axis has no levels", VALID);
    }
    if items.len() > LEVELS_MAX {
        let message = format!("the axis has {} levels", items.len());
        reader.report(node, message, format!("at most {LEVELS_MAX}"));
    }
    level_texts(reader, &items[..items.len().min(LEVELS_MAX)])
}

/// The texts of levels; an invalid one is left out.
pub(super) fn level_texts(reader: &DocumentReader<'_>, items: &[DocumentNode]) -> Vec<String> {
    let mut levels = Vec::new();
    for item in items {
        let Some(level) = reader.word(item, "a level") else {
            continue;
        };
        if level.len() > LEVEL_LEN_MAX || level.chars().any(char::is_control) {
            let valid = format!("at most {LEVEL_LEN_MAX} bytes in a single line");
            reader.report(item, "the level is too long or has several lines", valid);
        } else {
            levels.push(level);
        }
    }
    levels
}

fn geometric_levels(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<String>> {
    let fields = reader.fields(node, &AXIS)?;
    let settings = AxisSettings::read(reader, &fields);
    if settings.factor < geometric::FACTOR_MIN {
        let at = fields.get("factor").unwrap_or(node);
        let message = format!("`{}` is out of range", settings.factor);
        reader.report(at, message, geometric::FACTOR_VALID);
        return None;
    }
    let range = required(reader, &fields, "geom", "1..16")?;
    reader.value(range, geometric::VALID, |text| {
        geometric::levels(text, settings.factor)
    })
}

/// Reads what names axes and their levels.
struct AxisReader<'d, 'a> {
    reader: &'d DocumentReader<'a>,
    axes: &'d [Axis],
}

impl AxisReader<'_, '_> {
    /// The axis of a name.
    fn axis(&self, span: &std::ops::Range<usize>, name: &str) -> Option<usize> {
        let names: Vec<&str> = self.axes.iter().map(Axis::name).collect();
        let found = names.iter().position(|known| *known == name);
        if found.is_none() {
            self.reader.unknown(span, "axis", name, &names);
        }
        found
    }

    /// One group of axes, or a list of groups.
    fn zip(&self, node: &DocumentNode) -> Vec<Vec<usize>> {
        let items = self.reader.list(node, "names of axes");
        let has_groups = items
            .iter()
            .any(|item| matches!(item.kind, NodeKind::List(_)));
        let groups = if has_groups {
            items
        } else {
            std::slice::from_ref(node)
        };
        let mut zipped = Vec::new();
        groups
            .iter()
            .map(|group| self.zip_group(group, &mut zipped))
            .collect()
    }

    /// Reports levels that occur twice. Zipped axes are one list of combinations: `none` may belong to several.
    fn check_duplicates(&self, node: &DocumentNode, zip: &[Vec<usize>]) {
        for (index, axis) in self.axes.iter().enumerate() {
            let group = zip.iter().find(|group| group.contains(&index));
            let group = group.map_or(std::slice::from_ref(&index), Vec::as_slice);
            if group.first() != Some(&index) {
                continue;
            }
            let combination = |level: usize| -> Vec<Option<&String>> {
                let axes = group.iter().map(|axis| &self.axes[*axis]);
                axes.map(|axis| axis.levels().get(level)).collect()
            };
            let items = items_of(node, axis.name());
            let mut known = HashSet::new();
            for (level, item) in items.iter().enumerate().take(axis.levels().len()) {
                let combination = combination(level);
                if known.contains(&combination) {
                    let texts = combination.iter().flatten().map(|text| text.as_str());
                    let texts = texts.collect::<Vec<_>>().join(", ");
                    let message = format!("duplicate level `{texts}`");
                    self.reader.report(item, message, "each level once");
                }
                known.insert(combination);
            }
        }
    }

    fn zip_group(&self, node: &DocumentNode, zipped: &mut Vec<usize>) -> Vec<usize> {
        const VALID: &str = "two or more axes, such as [workers, threads]";
        let reader = self.reader;
        let items = reader.list(node, "names of axes");
        if items.len() < 2 && matches!(node.kind, NodeKind::List(_)) {
            reader.report(node, "nothing to zip", VALID);
        }
        let mut group: Vec<usize> = Vec::new();
        for item in items {
            let name = reader.word(item, "the name of an axis");
            let axis = name.and_then(|name| self.axis(&item.span, &name));
            let Some(axis) = axis else {
                continue;
            };
            let len = |axis: usize| self.axes[axis].levels().len();
            if zipped.contains(&axis) {
                let message = format!("`{}` is zipped twice", self.axes[axis].name());
                reader.report(item, message, "each axis once");
                continue;
            }
            // An axis without levels has its own error.
            if let Some(first) = group.first().copied()
                && len(first) != len(axis)
                && len(first).min(len(axis)) > 0
            {
                let [first_name, name] = [first, axis].map(|axis| self.axes[axis].name());
                let message = format!(
                    "`{name}` has {} levels, `{first_name}` has {}",
                    len(axis),
                    len(first)
                );
                reader.report(item, message, "axes with equally many levels");
            }
            zipped.push(axis);
            group.push(axis);
        }
        group
    }

    fn exclude(&self, node: &DocumentNode) -> Vec<Condition> {
        let items = self.reader.one_or_more(node);
        if items.len() > CONDITIONS_MAX {
            let message = format!("there are {} conditions", items.len());
            self.reader
                .report(node, message, format!("at most {CONDITIONS_MAX}"));
        }
        let items = items.iter().take(CONDITIONS_MAX);
        items.filter_map(|item| self.condition(item)).collect()
    }

    fn only_if(&self, node: &DocumentNode) -> Vec<OnlyIf> {
        let valid = "axes with conditions, such as ttl: { cache: page }";
        let entries = self.reader.entries(node, valid).unwrap_or_default();
        let mut read = Vec::new();
        for (key, value) in entries {
            let axis = self.axis(&key.span, &key.text);
            let condition = self.condition(value);
            if let Some((own, _)) = own_entry(value, &key.text) {
                let message = format!("`{}` depends on itself", key.text);
                let at = own.span.start;
                self.reader
                    .report_at(at, message, "conditions on other axes", None);
            }
            if let (Some(axis), Some(condition)) = (axis, condition) {
                read.push(OnlyIf { axis, condition });
            }
        }
        read
    }

    /// Levels of axes: `{ cores: 1, workers: [8, 16] }`.
    fn condition(&self, node: &DocumentNode) -> Option<Condition> {
        const VALID: &str = "axes with their levels, such as cores: 1";
        let entries = self.reader.entries(node, VALID)?;
        if entries.is_empty() {
            self.reader.report(node, "the condition is empty", VALID);
            return None;
        }
        // All terms are checked before an invalid one refuses the condition.
        let terms: Vec<Option<ConditionTerm>> = entries
            .iter()
            .map(|(key, value)| self.term(key, value))
            .collect();
        let terms: Option<Vec<ConditionTerm>> = terms.into_iter().collect();
        terms.map(Condition::new)
    }

    fn term(&self, key: &DocumentKey, value: &DocumentNode) -> Option<ConditionTerm> {
        let axis = self.axis(&key.span, &key.text)?;
        let known = self.axes[axis].levels();
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        let mut levels = Vec::new();
        for item in self.reader.one_or_more(value).iter().take(LEVELS_MAX) {
            let Some(text) = self.reader.word(item, "a level of the axis") else {
                continue;
            };
            let places = (0..names.len()).filter(|level| names[*level] == text);
            let before = levels.len();
            levels.extend(places);
            // An axis without levels has its own error.
            if levels.len() == before && !names.is_empty() {
                self.reader.unknown(&item.span, "level", &text, &names);
            }
        }
        Some(ConditionTerm { axis, levels })
    }
}

/// The levels of an axis as they are listed; none for a sequence, which has no duplicates.
fn items_of<'n>(axes: &'n DocumentNode, name: &str) -> &'n [DocumentNode] {
    match own_entry(axes, name).map(|(_, value)| &value.kind) {
        Some(NodeKind::List(items)) => items,
        Some(NodeKind::Map(_) | NodeKind::Scalar { .. }) | None => &[],
    }
}

fn own_entry<'n>(node: &'n DocumentNode, name: &str) -> Option<&'n (DocumentKey, DocumentNode)> {
    match &node.kind {
        NodeKind::Map(entries) => entries.iter().find(|(key, _)| key.text == name),
        NodeKind::List(_) | NodeKind::Scalar { .. } => None,
    }
}
