//! Data sets: CSV files, User Parameters, counters, random variables.

use super::context::Import;
use super::csv::{self, Table};
use super::functions::random_int;
use super::names::title;
use super::tree::Element;
use super::value::Value;
use super::variables::environment_name;
use crate::script::Template;
use crate::script::draft::{DataDraft, DataSource};
use crate::yaml::YamlNode;
use crate::{DataFile, FileContent};

/// Most rows that stand in the plan itself.
const ROWS_INLINE: usize = 20;

impl Import<'_> {
    /// The data sets and counters at and below these elements; thread groups are left out.
    pub(super) fn data_sets(&mut self, elements: &[Element], in_loop: bool) {
        for element in elements.iter().filter(|element| element.is_enabled) {
            match element.class.as_str() {
                "CSVDataSet" | "RandomCSVDataSetConfig" => self.csv(element, in_loop),
                "UserParameters" => self.user_parameters(element),
                "CounterConfig" => self.counter(element, in_loop),
                _ if super::names::is_group(element) => {}
                class => {
                    let repeats = matches!(
                        class,
                        "LoopController" | "WhileController" | "ForeachController" | "RunTime"
                    );
                    self.data_sets(&element.below, in_loop || repeats);
                }
            }
        }
    }

    fn csv(&mut self, element: &Element, in_loop: bool) {
        let names: Vec<String> = element
            .text("variableNames")
            .split([',', ';'])
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        let table = self.table(element, names.clone());
        let table = match table {
            Ok(table) => table,
            Err(why) => {
                self.without_file(element, &names, &why);
                return;
            }
        };
        let file = element
            .text("filename")
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let set = self.names.set(if stem.is_empty() { "rows" } else { stem });
        for (variable, column) in table.names.iter().zip(table.columns()) {
            if self.names.slots.remove(variable).is_some() {
                self.lose(
                    element,
                    &format!("`{variable}` is also set by another element; here the row counts"),
                    "give the two variables different names",
                );
            }
            self.names
                .expressions
                .insert(variable.clone(), format!("{set}.{column}"));
        }
        if in_loop {
            self.lose_part(
                element,
                "filename",
                (
                    "next row for each round",
                    "a user takes a row for each iteration of its journey, not of a loop within it",
                    "write the loop's steps as a journey of their own",
                ),
            );
        }
        let source = self.source(&set, &table);
        let (pick, at_end) = self.order(element);
        self.data.push(DataDraft {
            name: set,
            source,
            pick,
            at_end,
            each: Some("iteration"),
            delimiter: None,
        });
    }

    /// The rows of an element's file.
    fn table(&mut self, element: &Element, names: Vec<String>) -> Result<Table, String> {
        let path = self.of(element, "filename").constant();
        let path = path.ok_or("the name of its file changes at run time")?;
        let delimiter = self.of(element, "delimiter").constant().unwrap_or_default();
        let delimiter = match delimiter.as_str() {
            "" => ',',
            "\\t" | "\t" => '\t',
            text => {
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(only), None) => only,
                    _ => return Err(format!("its delimiter `{text}` is not one character")),
                }
            }
        };
        let text = self.script.files.text(path.trim())?;
        csv::read(
            &text,
            names,
            delimiter,
            element.is_set("quotedData"),
            element.is_set("ignoreFirstLine"),
        )
    }

    /// The columns of a file that cannot be read are variables of the environment.
    fn without_file(&mut self, element: &Element, names: &[String], why: &str) {
        let variables: Vec<String> = names.iter().map(|name| environment_name(name)).collect();
        let remedy = if variables.is_empty() {
            "put the file beside the .jmx, then import again".to_owned()
        } else {
            format!(
                "put the file beside the .jmx and import again, or set {} in the environment",
                variables.join(", ")
            )
        };
        self.lose(element, why, &remedy);
        for (name, variable) in names.iter().zip(variables) {
            self.names.slots.remove(name);
            self.names.expressions.remove(name);
            self.resolved
                .insert(name.clone(), Value::environment(variable, None));
            self.names
                .constants
                .entry(name.clone())
                .or_insert_with(|| (String::new(), element.at));
        }
    }

    /// A few rows stand in the plan; many in a file of their own.
    fn source(&mut self, set: &str, table: &Table) -> DataSource {
        let has_braces = |row: &Vec<String>| row.iter().any(|value| value.contains("{{"));
        if table.rows.len() <= ROWS_INLINE && !table.rows.iter().any(has_braces) {
            let rows = table.rows.iter().map(|row| {
                let columns = table.columns().into_iter();
                YamlNode::map(
                    columns
                        .zip(row)
                        .map(|(column, value)| (column, YamlNode::text(value))),
                )
            });
            return DataSource::Rows(rows.collect());
        }
        let name = format!("data/{set}.csv");
        self.files.push(DataFile {
            name: name.clone(),
            content: FileContent::Bytes(table.to_csv().into_bytes()),
        });
        self.note(format!(
            "the plan names {name}: `--out DIR` writes it beside the plan"
        ));
        DataSource::Csv(name)
    }

    fn order(&mut self, element: &Element) -> (Option<&'static str>, Option<&'static str>) {
        if element.class == "RandomCSVDataSetConfig" {
            return (element.is_set("randomOrder").then_some("random"), None);
        }
        if element.text("shareMode").contains("thread") {
            self.lose_part(
                element,
                "shareMode",
                (
                    "sharing mode \"Current thread\"",
                    "the users of a plan share the rows",
                    "write `each: user`, so that each user keeps a row",
                ),
            );
        }
        if element.is_set_or("recycle", true) {
            return (None, None);
        }
        if !element.is_set("stopThread") {
            self.lose_part(
                element,
                "recycle",
                (
                    "<EOF> after the last row",
                    "a user without a row leaves",
                    "write `at_end: recycle`, or `at_end: error`",
                ),
            );
        }
        (Some("unique"), Some("stop"))
    }

    /// A row for each user.
    fn user_parameters(&mut self, element: &Element) {
        let names: Vec<String> = element
            .items("UserParameters.names")
            .iter()
            .map(|name| name.text.trim().to_owned())
            .collect();
        let mut rows = Vec::new();
        for row in element.items("UserParameters.thread_values") {
            let mut values = Vec::new();
            for index in 0..names.len() {
                let item = row.items.get(index);
                let value = item.map(|item| self.value(&item.text, item.at));
                values.push(value.and_then(|value| value.constant()));
            }
            let values: Option<Vec<String>> = values.into_iter().collect();
            let Some(values) = values else {
                self.names.scripted.extend(names);
                self.lose(
                    element,
                    "its values change at run time",
                    "write `set` with the values in the steps",
                );
                return;
            };
            rows.push(values);
        }
        if names.is_empty() || rows.is_empty() {
            return;
        }
        let table = Table { names, rows };
        let set = self.names.set("parameters");
        for (variable, column) in table.names.iter().zip(table.columns()) {
            self.names.slots.remove(variable);
            self.names
                .expressions
                .insert(variable.clone(), format!("{set}.{column}"));
        }
        let source = self.source(&set, &table);
        self.data.push(DataDraft {
            name: set,
            source,
            pick: None,
            at_end: None,
            each: Some("user"),
            delimiter: None,
        });
    }

    /// A counter is the number of the iteration, as far as that is the same.
    fn counter(&mut self, element: &Element, in_loop: bool) {
        let name = element.text("CounterConfig.name").trim().to_owned();
        if name.is_empty() {
            return;
        }
        let start = self.number(element, "CounterConfig.start").unwrap_or(0.0);
        let step = self.number(element, "CounterConfig.incr").unwrap_or(1.0);
        let is_same = (start - 1.0).abs() < f64::EPSILON
            && (step - 1.0).abs() < f64::EPSILON
            && element.text("CounterConfig.format").trim().is_empty()
            && element.is_set("CounterConfig.per_user")
            && !in_loop;
        // One that only the condition of its loop has is the number of the loop's rounds.
        let mentions = self.script.text.matches(&format!("${{{name}}}")).count();
        let only_ends_loop = in_loop && mentions <= 1;
        if !(is_same || only_ends_loop) {
            self.lose(
                element,
                "here it is the number of the user's iteration, from 1 in steps of 1",
                "write the numbers as rows of a data set",
            );
        }
        self.names.slots.remove(&name);
        self.names.expressions.insert(name, "iteration".to_owned());
    }

    /// Values that each iteration sets at its start: those of Random Variables.
    pub(super) fn random_variables(&mut self, elements: &[&Element]) -> Vec<(String, Template)> {
        let mut found = Vec::new();
        for element in elements {
            let name = element.text("variableName").trim();
            if name.is_empty() {
                continue;
            }
            let low = self.of(element, "minimumValue");
            let high = self.of(element, "maximumValue");
            let Some(mut value) = random_int(&low, &high) else {
                self.lose(
                    element,
                    "its bounds are not whole numbers",
                    "write `set: { name: '{{ random_int(1, 6) }}' }`",
                );
                continue;
            };
            let format = element.text("outputFormat").trim();
            if !format.is_empty() {
                let prefix = format.trim_end_matches(['0', '#']);
                if format.len() - prefix.len() > 1 {
                    let what = format!("zeros in the format `{format}` of {}", title(element));
                    self.lose_text(
                        element.at,
                        &what,
                        "numbers of plans have no leading zeros",
                        "write bounds with as many digits",
                    );
                }
                let number = std::mem::replace(&mut value, Value::text(prefix.replace('\'', "")));
                value.push(number);
            }
            let slot = self.names.slot(name);
            self.user.set.insert(name.to_owned());
            found.push((slot, value.template()));
        }
        found
    }
}
