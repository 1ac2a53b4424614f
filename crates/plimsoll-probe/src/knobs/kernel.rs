//! Settings of the kernel, which an experiment sets by a file of them and `sysctl -p`.
//!
//! The file is one of the experiment, not of the machine: it has the values that stand, so that putting it back and
//! reading it again restores them.

use std::path::Path;

use rustix::fs::{Access, access};

use super::reader::{HERE, KnobReader, NewKnob, Spot};
use super::service::command;
use super::source::{KnobEdit, lines};
use super::{FoundFile, catalogue};

/// The file of present values, in the folder of the tune file.
pub const KERNEL_FILE: &str = "tune-kernel.conf";

/// Reads the settings of the kernel that are in the catalogue. A namespace has some of them, and not all can be set in it.
pub(super) fn read(reader: &mut KnobReader<'_>) {
    reader.begin_kernel();
    let mut text = String::new();
    let mut settings = Vec::new();
    for knob in catalogue::all().iter().filter(|knob| knob.kind.is_none()) {
        let path = format!("proc/sys/{}", knob.setting.replace('.', "/"));
        let Ok(value) = reader.files.read(&path) else {
            continue;
        };
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if access(reader.files.path(&path), Access::WRITE_OK).is_err() {
            settings.push((knob.setting, value, None));
            continue;
        }
        text.push_str(knob.setting);
        text.push_str(" = ");
        let start = text.len();
        text.push_str(&value);
        settings.push((knob.setting, value, Some(start..text.len())));
        text.push('\n');
    }
    let file = (!text.is_empty()).then(|| {
        reader.own_file(FoundFile {
            path: Path::new(KERNEL_FILE).to_owned(),
            text,
            reload: Some(command(&["sysctl", "-q", "-p", KERNEL_FILE])),
            ..FoundFile::default()
        })
    });
    let is_root = rustix::process::geteuid().is_root();
    for (setting, now, at) in settings {
        let spot = match (file, at) {
            (Some(file), Some(at)) => Spot::File(file, vec![(at, HERE.to_owned())]),
            _ if is_root => Spot::Unreachable(format!(
                "sysctl cannot write {setting} here, as in a container: run on the machine itself"
            )),
            _ => Spot::Unreachable("only root may change it: run as root".to_owned()),
        };
        reader.knob(NewKnob::new(setting, &now, spot));
    }
}

/// The file of the kernel's settings for a search: those that are not searched are comments, which `sysctl` passes over. So
/// nothing else is written, neither in a trial nor when everything is put back.
pub fn kernel_file(file: &FoundFile, is_searched: &dyn Fn(&str) -> bool) -> FoundFile {
    let mut own = FoundFile {
        text: String::new(),
        edits: Vec::new(),
        ..file.clone()
    };
    for line in lines(&file.text).filter(|line| !line.text.is_empty()) {
        let inside = line.start..line.start + line.text.len();
        let edits = file.edits.iter();
        let edits = edits.filter(|edit| is_searched(&edit.knob) && inside.contains(&edit.at.start));
        let edits: Vec<&KnobEdit> = edits.collect();
        if edits.is_empty() {
            own.text.push_str("# ");
        }
        let begin = own.text.len();
        let moved = edits.into_iter().map(|edit| KnobEdit {
            at: edit.at.start - line.start + begin..edit.at.end - line.start + begin,
            ..edit.clone()
        });
        own.edits.extend(moved);
        own.text.push_str(line.text);
        own.text.push('\n');
    }
    own
}
