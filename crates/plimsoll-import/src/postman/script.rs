//! Scripts of Postman: what a plan can do of them, and what is left.
//!
//! The parser is that of JavaScript ([`oxc_parser`]); nothing is executed. Statements whose meaning is known become
//! [`ScriptAction`]s, all others are named with their place.

mod checks;
mod value;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ArrowFunctionBody, AssignmentOperator, BindingPattern, Expression, Statement,
    VariableDeclaration,
};
use oxc_parser::Parser;
use oxc_span::{GetSpan as _, SourceType};

use self::value::{Aliases, chain};

pub(super) use self::value::ScriptValue;

/// Longest script that is read, bytes.
const SCRIPT_LEN_MAX: usize = 64 << 10;
/// Stack of the thread that reads a script, bytes: the parser recurses at most once for each byte.
const STACK_LEN: usize = 512 << 20;

/// Something that a script does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ScriptAction {
    /// Sets a variable.
    Set(String, ScriptValue),
    Check(Check),
    /// Left out: where, what, why, what to do.
    Lost(usize, String, &'static str, &'static str),
}

/// A condition of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Check {
    /// Each `200` or `2xx`.
    Statuses(Vec<String>),
    /// Milliseconds.
    Within(u64),
    Contains(ScriptValue),
    Lacks(ScriptValue),
    Header(String, Match),
    Json(String, Match),
}

/// A condition on a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Match {
    Equals(ScriptValue),
    Contains(ScriptValue),
    Present(bool),
    Regex(String),
}

/// What a script does, in its order; places are bytes of the script.
pub(super) fn read(text: &str) -> Vec<ScriptAction> {
    let lost = |message: &'static str| {
        let remedy = "write what it does into the plan: `capture`, `expect`, `set`";
        vec![ScriptAction::Lost(
            0,
            "the script".to_owned(),
            message,
            remedy,
        )]
    };
    if text.trim().is_empty() {
        return Vec::new();
    }
    if text.len() > SCRIPT_LEN_MAX {
        return lost("it is longer than 64 KiB");
    }
    let owned = text.to_owned();
    let thread = std::thread::Builder::new()
        .stack_size(STACK_LEN)
        .spawn(move || parsed(&owned));
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(actions)) => actions,
        _ => lost("it could not be read"),
    }
}

fn parsed(text: &str) -> Vec<ScriptAction> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::cjs()).parse();
    if parsed.panicked {
        return vec![ScriptAction::Lost(
            0,
            "the script".to_owned(),
            "it is not JavaScript",
            "mend it in Postman, then import again",
        )];
    }
    let mut reader = ScriptReader {
        text,
        aliases: Aliases::default(),
        actions: Vec::new(),
    };
    reader.statements(&parsed.program.body);
    reader.actions
}

struct ScriptReader<'t> {
    text: &'t str,
    aliases: Aliases,
    actions: Vec<ScriptAction>,
}

impl ScriptReader<'_> {
    fn statements(&mut self, statements: &[Statement<'_>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ExpressionStatement(inner) => self.expression(&inner.expression),
            Statement::VariableDeclaration(inner) => self.declaration(inner),
            Statement::BlockStatement(inner) => self.statements(&inner.body),
            Statement::EmptyStatement(_) => {}
            Statement::IfStatement(inner) => {
                self.lose(
                    inner.span.start,
                    inner.span.end,
                    "a condition in a script is left out: its first branch is taken always",
                    "write `if:` into the plan where it matters",
                );
                self.statement(&inner.consequent);
            }
            Statement::TryStatement(inner) => self.statements(&inner.block.body),
            Statement::ReturnStatement(inner) if inner.argument.is_none() => {}
            other => {
                let span = other.span();
                self.lose_code(span.start, span.end);
            }
        }
    }

    /// `const json = pm.response.json()`, `const { token } = pm.response.json()`.
    fn declaration(&mut self, declaration: &VariableDeclaration<'_>) {
        for declarator in &declaration.declarations {
            let Some(init) = &declarator.init else {
                continue;
            };
            let value = self.aliases.value(init);
            match (&declarator.id, value) {
                (BindingPattern::BindingIdentifier(name), Some(value)) => {
                    self.aliases.set(name.name.as_str(), value);
                }
                (BindingPattern::ObjectPattern(pattern), Some(ScriptValue::Json(path))) => {
                    for property in &pattern.properties {
                        let key = property.key.static_name();
                        if let (Some(key), BindingPattern::BindingIdentifier(name)) =
                            (key, &property.value)
                        {
                            let path = value::member(&path, &key);
                            self.aliases
                                .set(name.name.as_str(), ScriptValue::Json(path));
                        }
                    }
                }
                _ if is_quiet(init) => {}
                (pattern, _) => match (pattern, checks::condition(&self.aliases, init)) {
                    (BindingPattern::BindingIdentifier(name), Some(check)) => {
                        self.aliases.set_condition(name.name.as_str(), check);
                    }
                    _ => self.lose_code(declarator.span.start, declarator.span.end),
                },
            }
        }
    }

    fn expression(&mut self, expression: &Expression<'_>) {
        let expression = expression.get_inner_expression();
        let span = expression.span();
        match expression {
            Expression::AssignmentExpression(assignment)
                if assignment.operator == AssignmentOperator::Assign =>
            {
                self.assignment(assignment, span.start, span.end);
            }
            Expression::LogicalExpression(both) => {
                self.expression(&both.left);
                self.expression(&both.right);
            }
            Expression::StringLiteral(_) => {}
            _ => self.call(expression, span.start, span.end),
        }
    }

    /// `tests["name"] = condition`, `json = pm.response.json()`.
    fn assignment(
        &mut self,
        assignment: &oxc_ast::ast::AssignmentExpression<'_>,
        start: u32,
        end: u32,
    ) {
        let target = assignment.left.span();
        let target = &self.text[target.start as usize..target.end as usize];
        if target.starts_with("tests[") || target.starts_with("tests.") {
            match checks::condition(&self.aliases, &assignment.right) {
                Some(check) => self.actions.push(ScriptAction::Check(check)),
                None => self.lose_code(start, end),
            }
            return;
        }
        let is_name = target
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$');
        match self.aliases.value(&assignment.right) {
            Some(value) if is_name => self.aliases.set(target, value),
            _ => self.lose_code(start, end),
        }
    }

    fn call(&mut self, expression: &Expression<'_>, start: u32, end: u32) {
        let Some(links) = chain(expression) else {
            return self.lose_code(start, end);
        };
        let names: Vec<&str> = links.iter().map(|link| link.name.as_ref()).collect();
        let arguments = links.last().and_then(|link| link.arguments);
        match (names.as_slice(), arguments) {
            (["console", ..] | ["pm", "test", "skip"], _) => {}
            (
                [
                    "pm",
                    "environment" | "collectionVariables" | "globals" | "variables",
                    action,
                ]
                | ["postman", action],
                _,
            ) => self.variable(action, arguments, start, end),
            (["pm", "test"], Some([_, body])) => match body.as_expression() {
                Some(body) => self.function(body, start, end),
                None => self.lose_code(start, end),
            },
            (["pm", "response" | "expect", ..], _) => {
                match checks::assertion(&self.aliases, &links) {
                    Some(checks) => {
                        let checks = checks.into_iter().map(ScriptAction::Check);
                        self.actions.extend(checks);
                    }
                    None => self.lose_code(start, end),
                }
            }
            _ => self.lose_code(start, end),
        }
    }

    /// `pm.environment.set(name, value)` and its likes.
    fn variable(
        &mut self,
        action: &str,
        arguments: Option<&[oxc_ast::ast::Argument<'_>]>,
        start: u32,
        end: u32,
    ) {
        match action {
            "set" | "setEnvironmentVariable" | "setGlobalVariable" => {
                let pair = match arguments {
                    Some([name, value, ..]) => name.as_expression().zip(value.as_expression()),
                    _ => None,
                };
                let named = pair.and_then(|(name, value)| {
                    let name = self.aliases.value(name)?.into_text()?;
                    Some((name, self.aliases.value(value)?))
                });
                match named {
                    Some((name, value)) => self.actions.push(ScriptAction::Set(name, value)),
                    None => self.lose_code(start, end),
                }
            }
            // Each user of a plan has variables of its own, which end with it.
            "unset"
            | "clear"
            | "clearEnvironmentVariable"
            | "clearGlobalVariable"
            | "clearEnvironmentVariables"
            | "clearGlobalVariables"
            | "get" => {}
            _ => self.lose_code(start, end),
        }
    }

    fn function(&mut self, function: &Expression<'_>, start: u32, end: u32) {
        match function.get_inner_expression() {
            Expression::ArrowFunctionExpression(arrow) => match &arrow.body {
                ArrowFunctionBody::FunctionBody(body) => self.statements(&body.statements),
                body => match body.as_expression() {
                    Some(expression) => self.expression(expression),
                    None => self.lose_code(start, end),
                },
            },
            Expression::FunctionExpression(function) => {
                if let Some(body) = &function.body {
                    self.statements(&body.statements);
                }
            }
            _ => self.lose_code(start, end),
        }
    }

    fn lose_code(&mut self, start: u32, end: u32) {
        self.lose(
            start,
            end,
            "a plan runs no JavaScript",
            "write what it does into the plan: `capture`, `expect`, `set`",
        );
    }

    fn lose(&mut self, start: u32, end: u32, why: &'static str, remedy: &'static str) {
        let code = &self.text[start as usize..end as usize];
        let line = code.lines().next().unwrap_or_default().trim();
        self.actions.push(ScriptAction::Lost(
            start as usize,
            line.to_owned(),
            why,
            remedy,
        ));
    }
}

/// Whether a value is for other statements alone, and those name what is lost: libraries.
fn is_quiet(expression: &Expression<'_>) -> bool {
    chain(expression).is_some_and(|links| links.first().is_some_and(|link| link.name == "require"))
}
