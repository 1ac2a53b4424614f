//! Rows of CSV files as JMeter reads them.

/// A table of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Names of the variables.
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Reads rows. Without names the first line has them.
///
/// # Errors
/// When there is no row, or the first line has no usable names.
pub(super) fn read(
    text: &str,
    names: Vec<String>,
    delimiter: char,
    is_quoted: bool,
    skips_first: bool,
) -> Result<Table, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = records(text, delimiter, is_quoted).into_iter();
    let names = if names.is_empty() {
        let first = lines.next().ok_or("its file is empty")?;
        first
            .into_iter()
            .map(|name| name.trim().to_owned())
            .collect()
    } else {
        if skips_first {
            lines.next();
        }
        names
    };
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("column {} of its file has no name", index + 1));
        }
        if names[..index].contains(name) {
            return Err(format!("two columns of its file are named `{name}`"));
        }
    }
    let rows: Vec<Vec<String>> = lines
        .map(|mut row| {
            row.resize(names.len(), String::new());
            row
        })
        .collect();
    if rows.is_empty() {
        return Err("its file has no rows".to_owned());
    }
    Ok(Table { names, rows })
}

fn records(text: &str, delimiter: char, is_quoted: bool) -> Vec<Vec<String>> {
    if is_quoted {
        return quoted_records(text, delimiter);
    }
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| line.split(delimiter).map(str::to_owned).collect())
        .collect()
}

/// Records with quotes, in which delimiters, line breaks and doubled quotes may stand.
fn quoted_records(text: &str, delimiter: char) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut field = String::new();
    let mut in_quotes = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if in_quotes && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if in_quotes => in_quotes = false,
            '"' if field.is_empty() => in_quotes = true,
            _ if in_quotes => field.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' => {
                record.push(std::mem::take(&mut field));
                if record != [""] {
                    records.push(std::mem::take(&mut record));
                }
                record.clear();
            }
            _ if c == delimiter => record.push(std::mem::take(&mut field)),
            _ => field.push(c),
        }
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    records
}

impl Table {
    /// Names of the columns as templates of plans can have them.
    pub(super) fn columns(&self) -> Vec<String> {
        let mut columns: Vec<String> = Vec::new();
        for name in &self.names {
            let inside = |c: char| {
                if c.is_alphanumeric() || matches!(c, '_' | '-') {
                    c
                } else {
                    '_'
                }
            };
            let column: String = name.chars().map(inside).collect();
            let is_free = |column: &String| !columns.contains(column);
            columns.push(crate::heuristics::free_name(column, is_free));
        }
        columns
    }

    /// The table with its names in the first line, separated by commas.
    pub(super) fn to_csv(&self) -> String {
        let mut text = String::new();
        let columns = self.columns();
        for row in std::iter::once(&columns).chain(&self.rows) {
            let fields: Vec<String> = row.iter().map(|field| quoted(field)).collect();
            text.push_str(&fields.join(","));
            text.push('\n');
        }
        text
    }
}

fn quoted(field: &str) -> String {
    let needs_quotes =
        field.is_empty() || field.contains([',', '"', '\n', '\r']) || field.trim() != field;
    if needs_quotes {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn rows_are_read_as_jmeter_reads_them() {
        let table = read(
            "a;b\r\nc;d;e\r\nf\r\n",
            names(&["x", "y"]),
            ';',
            false,
            true,
        )
        .unwrap();
        assert_eq!(table.to_csv(), "x,y\nc,d\nf,\"\"\n");
        let table = read("u,p\nada,\"a, \"\"b\"\"\"\n", Vec::new(), ',', true, false).unwrap();
        assert_eq!(table.rows, [names(&["ada", "a, \"b\""])]);
        assert_eq!(table.to_csv(), "u,p\nada,\"a, \"\"b\"\"\"\n");
        assert!(read("", Vec::new(), ',', false, false).is_err());
        assert!(read("a,a\n1,2\n", Vec::new(), ',', false, false).is_err());
        assert!(read("head\n", names(&["x"]), ',', false, true).is_err());
    }
}
