//! Files of a script: parsed, their imports followed, their bodies followed once.

use std::collections::HashMap;
use std::path::Path;

use oxc_ast::ast::{
    Declaration, ExportDefaultDeclarationKind, ImportDeclaration, ImportDeclarationSpecifier,
    ModuleExportName, Program, Statement,
};
use oxc_parser::Parser;
use oxc_span::SourceType;

use super::machine::{Machine, Module};
use super::nesting;
use super::value::Value;
use crate::script::Losses;

/// Most files of a script.
const FILES_MAX: usize = 200;

/// Why a file is no script.
pub(super) struct SyntaxError {
    /// Byte of the file.
    pub(super) at: usize,
    pub(super) message: String,
}

impl<'a> Machine<'a, '_> {
    /// Reads a file of the script and follows its body; its number.
    pub(super) fn read_module(&mut self, path: &str, text: &str) -> Result<usize, SyntaxError> {
        nesting::check(text).map_err(|at| SyntaxError {
            at,
            message: "the script is nested too deeply".to_owned(),
        })?;
        let source: &'a str = self.allocator.alloc_str(text);
        let program = parse(self.allocator, path, source)?;
        let path: &'a str = self.allocator.alloc_str(path);
        let scope = self.scope(0);
        self.modules.push(Module {
            path: path.to_owned(),
            losses: Losses::new(path, source),
            source,
            exports: HashMap::new(),
            scope,
        });
        let index = self.modules.len() - 1;
        let outer = std::mem::replace(&mut self.module, index);
        self.follow_module(program, scope);
        self.module = outer;
        Ok(index)
    }

    fn follow_module(&mut self, program: &'a Program<'a>, scope: usize) {
        for statement in &program.body {
            if let Statement::ImportDeclaration(import) = statement {
                self.import(import, scope);
            }
        }
        let exports = Value::object(Vec::new());
        let module = Value::object(vec![("exports".to_owned(), exports.clone())]);
        self.declare(scope, "exports", exports);
        self.declare(scope, "module", module);
        self.hoist(&program.body, scope);
        for statement in &program.body {
            if self.is_exhausted {
                break;
            }
            self.module_statement(statement, scope);
        }
        self.common_exports(scope);
    }

    /// Names that a script exports as `module.exports` or `exports`.
    fn common_exports(&mut self, scope: usize) {
        let module = self.lookup(scope, "module").cloned();
        let exports = module.and_then(|module| module.field("exports"));
        for (name, value) in exports.map(|exports| exports.entries()).unwrap_or_default() {
            let name: &'a str = self.allocator.alloc_str(&name);
            self.modules[self.module]
                .exports
                .entry(name)
                .or_insert(value);
        }
    }

    fn module_statement(&mut self, statement: &'a Statement<'a>, scope: usize) {
        match statement {
            Statement::ImportDeclaration(_) => {}
            Statement::ExportDeclaration(export) => {
                self.export_declaration(&export.declaration, scope);
            }
            Statement::ExportDefaultDeclaration(export) => {
                let value = match &export.declaration {
                    ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                        match &function.body {
                            Some(body) => {
                                let value = self.function_value(&function.params, body, scope);
                                if let Some(name) = &function.id {
                                    self.declare(scope, name.name.as_str(), value.clone());
                                }
                                value
                            }
                            None => Value::Undefined,
                        }
                    }
                    ExportDefaultDeclarationKind::ClassDeclaration(class) => {
                        self.class(class, scope)
                    }
                    other => match other.as_expression() {
                        Some(expression) => self.evaluate(expression, scope),
                        None => Value::Undefined,
                    },
                };
                self.export("default", value);
            }
            Statement::ExportNamedDeclaration(export) => {
                for specifier in &export.specifiers {
                    let value = self
                        .lookup(scope, name_of(&specifier.local))
                        .cloned()
                        .unwrap_or(Value::Undefined);
                    self.export(name_of(&specifier.exported), value);
                }
            }
            Statement::ExportFromDeclaration(export) => {
                let module = self.imported(export.source.value.as_str(), export.span.start);
                for specifier in &export.specifiers {
                    let value = self.exported(&module, name_of(&specifier.local));
                    self.export(name_of(&specifier.exported), value);
                }
            }
            Statement::ExportAllDeclaration(export) => {
                let module = self.imported(export.source.value.as_str(), export.span.start);
                if let Imported::File(index) = module {
                    let all: Vec<(&'a str, Value<'a>)> = self.modules[index]
                        .exports
                        .iter()
                        .map(|(name, value)| (*name, value.clone()))
                        .collect();
                    for (name, value) in all {
                        self.export(name, value);
                    }
                }
            }
            other => {
                self.statement(other, scope);
            }
        }
    }

    fn export(&mut self, name: &'a str, value: Value<'a>) {
        self.modules[self.module].exports.insert(name, value);
    }

    fn export_declaration(&mut self, declaration: &'a Declaration<'a>, scope: usize) {
        match declaration {
            Declaration::VariableDeclaration(variables) => {
                self.declaration(variables, scope);
                for declarator in &variables.declarations {
                    if let Some(name) = declarator.id.get_identifier_name() {
                        let name = name.as_str();
                        let value = self
                            .lookup(scope, name)
                            .cloned()
                            .unwrap_or(Value::Undefined);
                        self.export(name, value);
                    }
                }
            }
            Declaration::FunctionDeclaration(function) => {
                if let Some(name) = &function.id {
                    let name = name.name.as_str();
                    let value = self
                        .lookup(scope, name)
                        .cloned()
                        .unwrap_or(Value::Undefined);
                    self.export(name, value);
                }
            }
            Declaration::ClassDeclaration(class) => {
                let value = self.class(class, scope);
                if let Some(name) = &class.id {
                    let name = name.name.as_str();
                    self.declare(scope, name, value.clone());
                    self.export(name, value);
                }
            }
            _ => {}
        }
    }

    fn import(&mut self, import: &'a ImportDeclaration<'a>, scope: usize) {
        if import.import_kind.is_type() {
            return;
        }
        let module = self.imported(import.source.value.as_str(), import.span.start);
        for specifier in import.specifiers.iter().flatten() {
            let (name, local) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(specifier) => {
                    (name_of(&specifier.imported), specifier.local.name.as_str())
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(specifier) => {
                    ("default", specifier.local.name.as_str())
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(specifier) => {
                    ("*", specifier.local.name.as_str())
                }
            };
            let value = self.exported(&module, name);
            self.declare(scope, local, value);
        }
    }

    /// The module of an address.
    fn imported(&mut self, address: &str, at: u32) -> Imported {
        if let Some(name) = super::native::module(address) {
            return Imported::Native(name);
        }
        if !address.starts_with('.') && !address.starts_with('/') {
            let (why, remedy) = reason(address);
            self.lose(at, format!("the module {address}"), why, &remedy);
            return Imported::Lost(address.to_owned());
        }
        let path = joined(&self.modules[self.module].path, address, self.module == 0);
        if let Some(known) = self.modules.iter().position(|module| module.path == path) {
            return Imported::File(known);
        }
        let text = match self.files.text(&path) {
            Ok(text) if self.modules.len() < FILES_MAX => text,
            Ok(_) => {
                self.lose(
                    at,
                    format!("the file {address}"),
                    "a script has at most 200 files",
                    "import a part of it",
                );
                return Imported::Lost(address.to_owned());
            }
            Err(error) => {
                self.lose(
                    at,
                    format!("the file {address}"),
                    &format!("it cannot be read: {error}"),
                    "put the file where the script names it, then import again",
                );
                return Imported::Lost(address.to_owned());
            }
        };
        if has_ending(&path, &["json"]) {
            return Imported::Lost(address.to_owned());
        }
        match self.read_module(&path, &text) {
            Ok(index) => Imported::File(index),
            Err(error) => {
                self.lose(
                    at,
                    format!("the file {address}"),
                    &error.message,
                    "mend it, then import again",
                );
                Imported::Lost(address.to_owned())
            }
        }
    }

    /// `require(address)`.
    pub(super) fn required(&mut self, address: &str, at: u32) -> Value<'a> {
        let module = self.imported(address, at);
        self.exported(&module, "*")
    }

    fn exported(&self, module: &Imported, name: &str) -> Value<'a> {
        match module {
            Imported::Native(module) => super::native::export(module, name),
            Imported::Lost(address) => Value::unknown(format!(
                "it is part of the module {address}, which is not followed"
            )),
            Imported::File(index) => {
                let module = &self.modules[*index];
                if name == "*" {
                    let fields = module
                        .exports
                        .iter()
                        .map(|(name, value)| ((*name).to_owned(), value.clone()));
                    return Value::object(fields.collect());
                }
                match module.exports.get(name) {
                    Some(value) => value.clone(),
                    None => self
                        .lookup(module.scope, name)
                        .cloned()
                        .unwrap_or(Value::Undefined),
                }
            }
        }
    }
}

/// What an import stands for.
enum Imported {
    Native(&'static str),
    File(usize),
    Lost(String),
}

fn name_of<'a>(name: &ModuleExportName<'a>) -> &'a str {
    match name {
        ModuleExportName::IdentifierName(name) => name.name.as_str(),
        ModuleExportName::IdentifierReference(name) => name.name.as_str(),
        ModuleExportName::StringLiteral(text) => text.value.as_str(),
    }
}

/// Why a module is not followed, and what to do.
fn reason(address: &str) -> (&'static str, String) {
    match address {
        "k6/browser" | "k6/experimental/browser" => (
            "a plan sends requests, and has no browser",
            "record what the browser sends: `plimsoll record URL`".to_owned(),
        ),
        "k6/net/grpc" | "k6/experimental/grpc" => (
            "a plan has no gRPC",
            "keep k6 for these calls, or send them by a `process:` of the plan".to_owned(),
        ),
        other if other.starts_with("k6/") => {
            ("a plan has nothing of its kind", super::record_command())
        }
        other if other.starts_with("http") => (
            "it is not on this machine",
            format!(
                "download it beside the script and import it from there, or record the script: {}",
                super::record_command()
            ),
        ),
        _ => (
            "it is a package, which is not followed",
            format!(
                "bundle the script into one file, or record it: {}",
                super::record_command()
            ),
        ),
    }
}

/// The path of an imported file, relative to the script.
fn joined(from: &str, address: &str, is_main: bool) -> String {
    if address.starts_with('/') {
        return address.to_owned();
    }
    let mut parts: Vec<&str> = if is_main {
        Vec::new()
    } else {
        from.split('/').collect()
    };
    parts.pop();
    for part in address.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    let ending = Path::new(path)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| {
        endings
            .iter()
            .any(|candidate| ending.eq_ignore_ascii_case(candidate))
    })
}

/// Parses a file.
fn parse<'a>(
    allocator: &'a oxc_allocator::Allocator,
    path: &str,
    source: &'a str,
) -> Result<&'a Program<'a>, SyntaxError> {
    let is_typescript = has_ending(path, &["ts", "mts", "cts"]);
    let kind = if is_typescript {
        SourceType::ts().with_module(true)
    } else {
        SourceType::mjs()
    };
    let parsed = Parser::new(allocator, source, kind).parse();
    if parsed.panicked || parsed.diagnostics.has_errors() {
        let first = parsed.diagnostics.errors().next();
        let at = first
            .and_then(|error| {
                error
                    .labels
                    .iter()
                    .next()
                    .map(oxc_span::LabeledSpan::offset)
            })
            .unwrap_or(0);
        return Err(SyntaxError {
            at: at as usize,
            message: first.map_or_else(
                || "it is not JavaScript".to_owned(),
                |error| format!("it is not JavaScript: {}", error.message),
            ),
        });
    }
    Ok(allocator.alloc(parsed.program))
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn files_are_found_from_the_file_that_imports_them() {
        assert_eq!(joined("x/main.js", "./lib/a.js", true), "lib/a.js");
        assert_eq!(joined("lib/a.js", "./b.js", false), "lib/b.js");
        assert_eq!(joined("lib/a.js", "../c.js", false), "c.js");
        assert_eq!(joined("a.js", "../../c.js", false), "../../c.js");
    }
}
