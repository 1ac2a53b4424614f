//! Tables of keys as Markdown.

use std::fmt::Write as _;

use super::keywords::{KeywordTable, Shape};

/// The keys of one table.
pub(crate) fn section(page: &mut String, table: &KeywordTable) {
    let _ = write!(
        page,
        "\n## `{}`\n\n{}\n\n| key | value | meaning |\n|---|---|---|\n",
        table.name, table.meaning
    );
    for word in table.words {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            word.name,
            shape(&word.shape).replace('|', "\\|"),
            word.text().replace('|', "\\|")
        );
    }
}

fn shape(of: &Shape) -> String {
    match of {
        Shape::Text => "text".to_owned(),
        Shape::Template => "template".to_owned(),
        Shape::Duration => "duration".to_owned(),
        Shape::Rate => "rate or range of rates".to_owned(),
        Shape::Range => "number or range".to_owned(),
        Shape::Size => "size".to_owned(),
        Shape::Status => "statuses".to_owned(),
        Shape::Objective => "objective".to_owned(),
        Shape::Count(least, u64::MAX) => format!("whole number from {least}"),
        Shape::Count(least, most) if *most == u64::from(u32::MAX) => {
            format!("whole number from {least}")
        }
        Shape::Count(least, most) => format!("{least} to {most}"),
        Shape::Number => "number".to_owned(),
        Shape::Switch => "`true` or `false`".to_owned(),
        Shape::OneOf(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        Shape::Of(table) => format!("[{0}](#{0})", table.name),
        Shape::Steps => "list of [step](#step)".to_owned(),
        Shape::ListOf(of) => format!("list of {}", shape(of)),
        Shape::OneOrMore(of) => format!("{}, or a list", shape(of)),
        Shape::MapOf(of) => format!("map of {}", shape(of)),
        Shape::MapWith(table) => format!("map of any, with the keys of [{0}](#{0})", table.name),
        Shape::Either(shapes) => shapes.iter().map(shape).collect::<Vec<_>>().join(", or "),
        Shape::Free => "any".to_owned(),
    }
}
