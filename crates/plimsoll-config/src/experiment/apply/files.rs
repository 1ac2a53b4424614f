//! Reads files that are written from templates.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_model::experiment::{LevelText, TemplateFile};

use crate::document::Shape::Text;
use crate::document::{DocumentNode, KeywordTable, Spot, word};
use crate::experiment::commands::{COMMAND_SHAPE, command_line};
use crate::experiment::required;
use crate::experiment::scope::ExperimentScope;

/// Maximum size of a template, bytes.
const TEMPLATE_LEN_MAX: u64 = 1 << 20;
/// Faulty lines of a template that are reported.
const FAULTY_LINES_MAX: usize = 20;
/// Default time limit of `check` and `reload`.
const RELOAD_TIME: Duration = Duration::from_secs(30);

/// Keys of a file.
pub(in crate::experiment) static FILE: KeywordTable = KeywordTable {
    name: "file",
    meaning: "A file that is written from a template before a trial. What it was before is put back.",
    words: &[
        word!(
            "template",
            Text,
            "Template, relative to the folder of this file, at most 1 MiB. `{{ AXIS }}` is replaced by the level; a \
             line that mentions an axis that is not varied is left out; `{{ '{{' }}` writes two braces."
        ),
        word!("to", Text, "File that is written."),
        word!(
            "check",
            COMMAND_SHAPE,
            "Command that must succeed after the file is written and before `reload`, such as the server's own check of \
             its syntax: `[nginx, -t]`. Otherwise the file is put back, and the trial has failed. Default: none."
        ),
        word!(
            "reload",
            COMMAND_SHAPE,
            "Command that makes the service read the file. Default: none."
        ),
    ],
};

/// Reads files, of which each is written once.
pub(super) struct FileReader<'s, 'd, 'a> {
    scope: &'s ExperimentScope<'d, 'a>,
    written: RefCell<BTreeSet<String>>,
}

impl<'s, 'd, 'a> FileReader<'s, 'd, 'a> {
    pub(super) fn new(scope: &'s ExperimentScope<'d, 'a>) -> Self {
        Self {
            scope,
            written: RefCell::default(),
        }
    }

    pub(super) fn file(&self, node: &DocumentNode) -> Option<TemplateFile> {
        let reader = self.scope.reader;
        let fields = reader.fields(node, &FILE)?;
        let template = required(reader, &fields, "template", "nginx.conf.in");
        let lines = template.and_then(|node| self.template(node));
        let to = required(reader, &fields, "to", "/etc/nginx/nginx.conf");
        let to = to.and_then(|node| self.target(node));
        let command = |key| match fields.get(key) {
            None => Some(None),
            Some(node) => command_line(self.scope, node, RELOAD_TIME).map(Some),
        };
        let (check, reload) = (command("check"), command("reload"));
        let (template, lines) = lines?;
        Some(TemplateFile {
            template,
            lines,
            to: to?,
            check: check?,
            reload: reload?,
        })
    }

    /// The name of a template, and its lines.
    fn template(&self, node: &DocumentNode) -> Option<(String, Vec<LevelText>)> {
        let reader = self.scope.reader;
        let path = reader.word(node, "the name of a template")?;
        let content = reader.file(node, &path, TEMPLATE_LEN_MAX)?;
        let Ok(content) = String::from_utf8(content) else {
            reader.report(node, format!("`{path}` is not a text"), "a text in UTF-8");
            return None;
        };
        let spot = Spot::of_file(node, &content, &path);
        let mut lines = Vec::new();
        let (mut start, mut faulty) = (0, 0);
        for line in content.split_inclusive('\n') {
            let range = start..start + line.len();
            start = range.end;
            match self.scope.pieces(&spot.slice(range)) {
                Some(line) => lines.push(line),
                None => faulty += 1,
            }
            if faulty == FAULTY_LINES_MAX {
                break;
            }
        }
        (faulty == 0).then_some((path, lines))
    }

    /// The file that is written; two templates for it would undo each other.
    fn target(&self, node: &DocumentNode) -> Option<String> {
        let reader = self.scope.reader;
        let path = reader.word(node, "the name of a file")?;
        if !self.written.borrow_mut().insert(path.clone()) {
            let message = format!("`{path}` is written from two templates");
            reader.report(node, message, "each file once");
            return None;
        }
        Some(path)
    }
}
