//! Settings of the kernel, which an experiment sets by a file of them and `sysctl -p`.
//!
//! The file is one of the experiment, not of the machine: it has the values that stand, so that putting it back and
//! reading it again restores them.

use std::path::Path;

use super::reader::{HERE, KnobReader, NewKnob, Spot};
use super::service::command;
use super::{FoundFile, catalogue};

/// The file of present values, in the folder of the tune file.
pub const KERNEL_FILE: &str = "tune-kernel.conf";

/// Reads the settings of the kernel that are in the catalogue.
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
        text.push_str(knob.setting);
        text.push_str(" = ");
        let start = text.len();
        text.push_str(&value);
        settings.push((knob.setting, value, start..text.len()));
        text.push('\n');
    }
    let is_root = rustix::process::geteuid().is_root();
    let file = is_root.then(|| {
        reader.own_file(FoundFile {
            path: Path::new(KERNEL_FILE).to_owned(),
            text,
            reload: Some(command(&["sysctl", "-q", "-p", KERNEL_FILE])),
            ..FoundFile::default()
        })
    });
    for (setting, now, at) in settings {
        let spot = match file {
            Some(file) => Spot::File(file, vec![(at, HERE.to_owned())]),
            None => Spot::Unreachable("only root may change it: run as root".to_owned()),
        };
        reader.knob(NewKnob::new(setting, &now, spot));
    }
}
