use std::collections::HashMap;

use super::*;
use crate::script::ScriptFiles;

mod documents;
mod values;

/// Files beside a document.
#[derive(Default)]
struct Folder(HashMap<&'static str, &'static str>);

impl ScriptFiles for Folder {
    fn text(&self, path: &str) -> Result<String, String> {
        let text = self.0.get(path).map(|text| (*text).to_owned());
        text.ok_or_else(|| format!("no file {path}"))
    }
}

fn import_with(text: &str, folder: &Folder) -> Result<Imported, ScriptError> {
    let script = Script {
        name: "api/openapi.yaml",
        text,
        files: folder,
    };
    import(&script, &ScriptOptions::default())
}

fn imported(text: &str) -> Imported {
    import_with(text, &Folder::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A document of these paths; `more` are further keys at the top.
fn document(paths: &str, more: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{ title: Pets, version: 1 }}\nservers: [{{ url: https://pets.example/v1/ }}]\n{more}\npaths:\n{paths}"
    )
}
