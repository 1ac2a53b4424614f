//! Files that a command line names.

use super::context::Context;
use crate::script::Marks;
use crate::{DataFile, FileContent};

/// Longest file whose text becomes part of the plan, bytes.
const INLINE_LEN_MAX: usize = 16 << 10;

/// The content of a file as a text with marks: the text itself if it is short, else an expression that reads the file.
/// `strips_breaks`: without line breaks, as `--data @FILE` sends it. A file that is not there is lost.
pub(super) fn content(
    context: &mut Context<'_>,
    at: usize,
    path: &str,
    strips_breaks: bool,
) -> String {
    let Some(bytes) = read(context, at, path) else {
        return String::new();
    };
    let has_breaks = bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0));
    let sent = if strips_breaks && has_breaks {
        let kept = bytes.iter().copied();
        kept.filter(|byte| !matches!(byte, b'\r' | b'\n' | 0))
            .collect()
    } else {
        bytes
    };
    if sent.len() <= INLINE_LEN_MAX
        && let Ok(text) = std::str::from_utf8(&sent)
        && !text.contains('\0')
    {
        return Marks::clean(text);
    }
    let source = if strips_breaks && has_breaks {
        FileContent::Bytes(sent)
    } else {
        FileContent::Copy(path.to_owned())
    };
    let name = planned(context, path, source);
    context.marks.mark(&format!("file('{name}')")).to_string()
}

/// The name in the plan of a file that is sent as it is; `None` if it is not there, which is a loss.
pub(super) fn part(context: &mut Context<'_>, at: usize, path: &str) -> Option<String> {
    read(context, at, path)?;
    Some(planned(context, path, FileContent::Copy(path.to_owned())))
}

fn read(context: &mut Context<'_>, at: usize, path: &str) -> Option<Vec<u8>> {
    let read = if Marks::are_in(path) {
        Err("its name is known only when the command runs".to_owned())
    } else {
        context.script.files.bytes(path)
    };
    match read {
        Ok(bytes) => Some(bytes),
        Err(why) => {
            context.lose(
                at,
                &format!("the content of {path}"),
                &why,
                "put the file beside the script, then import again",
            );
            None
        }
    }
}

/// Adds a file to the plan; its name there is relative to the plan and can stand in quotes.
fn planned(context: &mut Context<'_>, path: &str, source: FileContent) -> String {
    if let Some(known) = context.files.iter().find(|file| file.content == source) {
        return known.name.clone();
    }
    let is_plain = |name: &str| {
        name.split('/').all(|part| !matches!(part, "" | "." | ".."))
            && !name.contains(['\'', '"', '\\'])
            && !name.chars().any(char::is_control)
    };
    let short = path.strip_prefix("./").unwrap_or(path);
    let wish = if is_plain(short) {
        short.to_owned()
    } else {
        let last = short.rsplit(['/', '\\']).next().unwrap_or_default();
        let last: String = last
            .chars()
            .filter(|c| !c.is_control() && !matches!(c, '\'' | '"'))
            .collect();
        if matches!(last.as_str(), "" | "." | "..") {
            "file".to_owned()
        } else {
            last
        }
    };
    let is_taken = |name: &String| context.files.iter().any(|file| file.name == *name);
    let mut name = wish.clone();
    let mut number = 2_usize;
    while is_taken(&name) {
        name = format!("{number}-{}", wish.replace('/', "-"));
        number += 1;
    }
    context.files.push(DataFile {
        name: name.clone(),
        content: source,
    });
    name
}
