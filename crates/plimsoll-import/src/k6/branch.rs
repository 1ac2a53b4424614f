//! Branches: folded where the condition is known, else `if`, `choose`, `once` or an expectation of the plan.

use std::rc::Rc;

use oxc_ast::ast::{ConditionalExpression, IfStatement, Statement};
use oxc_span::GetSpan as _;

use super::comparison::{Operator, Test};
use super::condition::{is_first_iteration, random_bound};
use super::machine::{Journal, Machine};
use super::node::Node;
use super::statement::Flow;
use super::value::{Random, Value};

/// Statements of a branch, and those that follow the condition where the branch goes on with them.
#[derive(Clone, Copy)]
struct Branch<'a> {
    own: &'a [Statement<'a>],
    single: Option<&'a Statement<'a>>,
    rest: &'a [Statement<'a>],
}

/// What a branch did.
struct Followed<'a> {
    flow: Flow<'a>,
    nodes: Vec<Node>,
    /// Names that it assigned: scope, name, value before, value after.
    assigned: Vec<(usize, &'a str, Value<'a>, Value<'a>)>,
}

impl<'a> Branch<'a> {
    fn of(single: Option<&'a Statement<'a>>) -> Self {
        Self {
            own: &[],
            single,
            rest: &[],
        }
    }

    fn with(self, rest: &'a [Statement<'a>]) -> Self {
        Self { rest, ..self }
    }
}

impl<'a> Machine<'a, '_> {
    /// Follows an `if`. The second value tells whether the statements after it were followed, too.
    pub(super) fn if_statement(
        &mut self,
        statement: &'a IfStatement<'a>,
        rest: &'a [Statement<'a>],
        scope: usize,
    ) -> (Flow<'a>, bool) {
        let value = self.evaluate(&statement.test, scope);
        let then = Branch::of(Some(&statement.consequent));
        let otherwise = Branch::of(statement.alternate.as_ref());
        if let Some(truth) = self.truth_now(&value) {
            let taken = if truth { then } else { otherwise };
            return match taken.single {
                Some(taken) => (self.statement(taken, scope), false),
                None => (Flow::Next, false),
            };
        }
        let Some(test) = Test::of(&value) else {
            return (Flow::Next, false);
        };
        if matches!(&*test, Test::Truthy(Value::Unknown(_))) {
            self.unknown_if(statement, scope);
            return (Flow::Next, false);
        }
        if statement.alternate.is_none() && is_first_iteration(&test) && self.is_first() {
            self.follow_once(&statement.consequent, scope);
            return (Flow::Next, false);
        }
        if let Some(flow) =
            self.if_of_response(&test, (then, otherwise), statement.span.start, scope)
        {
            return (flow, false);
        }
        self.if_at_run_time(&test, (then, otherwise), rest, (statement.span, scope))
    }

    /// Whether a condition holds, as far as it is known now; that of a variable of the environment by its default.
    fn truth_now(&mut self, value: &Value<'a>) -> Option<bool> {
        if let Value::Variable(name, default) = value {
            let value = self.variables.get(&**name).cloned();
            let text = value.or_else(|| default.as_ref().map(ToString::to_string));
            let name = Rc::clone(name);
            self.note(format!(
                "__ENV.{name} decides about steps: the plan has those for its default; import again with another default in the script for others"
            ));
            return Some(text.is_some_and(|text| !text.is_empty()));
        }
        value.truth()
    }

    /// The steps of a block that only the first iteration takes.
    fn follow_once(&mut self, block: &'a Statement<'a>, scope: usize) {
        self.open();
        self.statement(block, scope);
        let nodes = self.close();
        self.once.extend(nodes);
    }

    fn unknown_if(&mut self, statement: &'a IfStatement<'a>, scope: usize) {
        self.open();
        let inner = self.scope(scope);
        self.statement(&statement.consequent, inner);
        if let Some(alternate) = &statement.alternate {
            self.statement(alternate, inner);
        }
        if !self.close().is_empty() {
            let words = self.words(statement.test.span());
            self.lose(
                statement.span.start,
                format!("the steps of `if`, {words}"),
                "its condition is known only when the script runs",
                "write them with `if` on a captured value, or record the script",
            );
        }
    }

    /// An `if` on a status or a body: the plan expects the usual case, and ends the iteration otherwise.
    fn if_of_response(
        &mut self,
        test: &Rc<Test<'a>>,
        branches: (Branch<'a>, Branch<'a>),
        at: u32,
        scope: usize,
    ) -> Option<Flow<'a>> {
        let (then, otherwise) = branches;
        let is_positive = Self::is_usual(test)?;
        let (usual, unusual) = if is_positive {
            (then, otherwise)
        } else {
            (otherwise, then)
        };
        let expected = if is_positive {
            Rc::clone(test)
        } else {
            test.opposite()
        };
        self.expect(&expected, at);
        self.open();
        let skipped = self.follow(unusual, scope);
        self.revert(&skipped);
        if !self.close().is_empty() || !skipped.nodes.is_empty() {
            self.lose(
                at,
                "the steps for an unexpected response",
                "in a plan an unexpected response ends the iteration",
                "write them with `if` on a captured value",
            );
        }
        Some(match usual.single {
            Some(usual) => self.statement(usual, scope),
            None => Flow::Next,
        })
    }

    fn if_at_run_time(
        &mut self,
        test: &Rc<Test<'a>>,
        branches: (Branch<'a>, Branch<'a>),
        rest: &'a [Statement<'a>],
        (span, scope): (oxc_span::Span, usize),
    ) -> (Flow<'a>, bool) {
        let (then, otherwise) = branches;
        let random = random_bound(test);
        let first = self.follow_narrowed(then, random, true, scope);
        self.revert(&first);
        let leaves = matches!(first.flow, Flow::Return(_) | Flow::End);
        let otherwise = if leaves {
            otherwise.with(rest)
        } else {
            otherwise
        };
        let second = self.follow_narrowed(otherwise, random, false, scope);
        self.revert(&second);
        let (flow, has_rest) = match (&first.flow, &second.flow) {
            _ if leaves => (second.flow.clone(), !rest.is_empty()),
            (Flow::Next, Flow::Return(_) | Flow::End) => {
                self.lose(
                    span.start,
                    "a `return` in an `else`",
                    "the plan goes on with the steps after it",
                    "write the steps after it into the first branch",
                );
                (Flow::Next, false)
            }
            _ => (Flow::Next, false),
        };
        let flow = match flow {
            Flow::Return(value) if !matches!(value, Value::Undefined) && leaves => {
                self.merged_result(&first.flow, value)
            }
            flow => flow,
        };
        let (mut then, mut otherwise) = (first.nodes.clone(), second.nodes.clone());
        self.merge(&first, &second, (&mut then, &mut otherwise));
        self.emit_branches(test, then, otherwise, span.start);
        (flow, has_rest)
    }

    /// What a function returns that returns in a branch and at its end.
    fn merged_result(&self, first: &Flow<'a>, second: Value<'a>) -> Flow<'a> {
        match first {
            Flow::Return(value) if !value.is_nothing() => {
                if self.known_text(value).is_some()
                    && self.known_text(value) == self.known_text(&second)
                {
                    return Flow::Return(second);
                }
                Flow::Return(Value::unknown(
                    "a result that depends on what is known at run time",
                ))
            }
            _ => Flow::Return(second),
        }
    }

    fn follow_narrowed(
        &mut self,
        branch: Branch<'a>,
        random: Option<(Random, Operator, f64)>,
        holds: bool,
        scope: usize,
    ) -> Followed<'a> {
        let Some((random, operator, bound)) = random else {
            return self.follow(branch, scope);
        };
        let old = self.bounds.get(&random.id).copied();
        let (low, high) = old.unwrap_or((random.low, random.high));
        let is_below = matches!(operator, Operator::Less | Operator::LessOrEqual) == holds;
        let bound = bound.clamp(low.min(high), high.max(low));
        let narrowed = if is_below {
            (low, bound)
        } else {
            (bound, high)
        };
        self.bounds.insert(random.id, narrowed);
        let followed = self.follow(branch, scope);
        match old {
            Some(old) => self.bounds.insert(random.id, old),
            None => self.bounds.remove(&random.id),
        };
        followed
    }

    /// Follows a branch into steps of its own.
    fn follow(&mut self, branch: Branch<'a>, scope: usize) -> Followed<'a> {
        self.journals.push(Journal::new());
        self.open();
        let mut flow = match branch.single {
            Some(statement) => self.statement(statement, scope),
            None => self.statements(branch.own, scope, false),
        };
        if matches!(flow, Flow::Next) && !branch.rest.is_empty() {
            flow = self.statements(branch.rest, scope, true);
        }
        let nodes = self.close();
        let journal = self.journals.pop().unwrap_or_default();
        let mut assigned: Vec<(usize, &'a str, Value<'a>, Value<'a>)> = Vec::new();
        for (scope, name, before) in journal {
            if assigned
                .iter()
                .any(|(known, candidate, ..)| *known == scope && *candidate == name)
            {
                continue;
            }
            let after = self.scopes[scope].names.get(name).cloned();
            assigned.push((scope, name, before, after.unwrap_or(Value::Undefined)));
        }
        Followed {
            flow,
            nodes,
            assigned,
        }
    }

    /// Follows the statements of a `case` into steps of their own; what they assign holds in them only.
    pub(super) fn follow_case(&mut self, own: &'a [Statement<'a>], scope: usize) -> Vec<Node> {
        let branch = Branch {
            own,
            single: None,
            rest: &[],
        };
        let followed = self.follow(branch, scope);
        self.revert(&followed);
        followed.nodes
    }

    fn revert(&mut self, followed: &Followed<'a>) {
        for (scope, name, before, _) in &followed.assigned {
            self.scopes[*scope].names.insert(name, before.clone());
        }
    }

    /// Gives names that branches assigned the value that holds after both.
    fn merge(
        &mut self,
        first: &Followed<'a>,
        second: &Followed<'a>,
        (then, otherwise): (&mut Vec<Node>, &mut Vec<Node>),
    ) {
        let mut names: Vec<(usize, &'a str)> = Vec::new();
        for (scope, name, ..) in first.assigned.iter().chain(&second.assigned) {
            if !names.contains(&(*scope, *name)) {
                names.push((*scope, name));
            }
        }
        for (scope, name) in names {
            let after = |followed: &Followed<'a>| {
                let mut list = followed.assigned.iter();
                list.find(|(known, candidate, ..)| *known == scope && *candidate == name)
                    .map(|(.., after)| after.clone())
            };
            let before = self
                .lookup(scope, name)
                .cloned()
                .unwrap_or(Value::Undefined);
            let left = after(first).unwrap_or_else(|| before.clone());
            let right = after(second).unwrap_or(before);
            let merged = self.merged(name, left, right, (then, otherwise));
            self.assign(scope, name, merged);
        }
    }

    fn merged(
        &mut self,
        name: &str,
        left: Value<'a>,
        right: Value<'a>,
        (then, otherwise): (&mut Vec<Node>, &mut Vec<Node>),
    ) -> Value<'a> {
        if left.is_nothing() {
            return right;
        }
        if right.is_nothing() {
            return left;
        }
        let can = |value: &Value<'a>| {
            matches!(
                value,
                Value::Text(_)
                    | Value::Number(_)
                    | Value::Bool(_)
                    | Value::Variable(..)
                    | Value::Row(_)
            ) || matches!(value, Value::Answer(_, what) if what.source().is_some())
        };
        if !can(&left) || !can(&right) {
            return Value::unknown(format!("`{name}` is assigned under a condition"));
        }
        let is_number = matches!((&left, &right), (Value::Number(_), Value::Number(_)));
        let (left, right) = (self.text_of(&left, 0), self.text_of(&right, 0));
        if left == right {
            return Value::Text(Rc::new(left));
        }
        let slot = self.slot(name);
        let (left, right) = (self.template(&left), self.template(&right));
        then.push(Node::Set(slot.clone(), left));
        otherwise.push(Node::Set(slot.clone(), right));
        let hole = super::text::Hole::stable(slot);
        Value::hole(if is_number { hole.number() } else { hole })
    }

    /// Emits an `if` or a `choose`.
    pub(super) fn emit_branches(
        &mut self,
        test: &Rc<Test<'a>>,
        then: Vec<Node>,
        otherwise: Vec<Node>,
        at: u32,
    ) {
        if then.is_empty() && otherwise.is_empty() {
            return;
        }
        if let Some(chance) = self.chance_of(test) {
            if chance <= 0.0 {
                self.emit_all(otherwise);
            } else if chance >= 1.0 {
                self.emit_all(then);
            } else {
                let other = rounded(1.0 - chance);
                self.emit(Node::Choose(vec![
                    (rounded(chance), then),
                    (other, otherwise),
                ]));
            }
            return;
        }
        match &**test {
            Test::And(left, right) => {
                self.open();
                self.emit_branches(right, then, otherwise.clone(), at);
                let inner = self.close();
                self.emit_branches(left, inner, otherwise, at);
            }
            Test::Or(left, right) => {
                self.open();
                self.emit_branches(right, then.clone(), otherwise, at);
                let inner = self.close();
                self.emit_branches(left, then, inner, at);
            }
            _ => match self.condition(test) {
                Some(condition) => self.emit(Node::If {
                    condition,
                    then,
                    otherwise,
                }),
                None => self.lose(
                    at,
                    "the steps of an `if`",
                    "a plan cannot express its condition",
                    "write them with `if` on a captured value, or record the script",
                ),
            },
        }
    }

    pub(super) fn conditional(
        &mut self,
        conditional: &'a ConditionalExpression<'a>,
        scope: usize,
    ) -> Value<'a> {
        let value = self.evaluate(&conditional.test, scope);
        if let Some(truth) = self.truth_now(&value) {
            let taken = if truth {
                &conditional.consequent
            } else {
                &conditional.alternate
            };
            return self.evaluate(taken, scope);
        }
        let Some(test) = Test::of(&value) else {
            return Value::Undefined;
        };
        self.open();
        let left = self.evaluate(&conditional.consequent, scope);
        let mut then = self.close();
        self.open();
        let right = self.evaluate(&conditional.alternate, scope);
        let mut otherwise = self.close();
        if matches!(&*test, Test::Truthy(Value::Unknown(_))) {
            // Both are values that a reader would have to choose from: the first one is the usual.
            return if left.is_nothing() { right } else { left };
        }
        if Self::is_usual(&test).is_some() && then.is_empty() && otherwise.is_empty() {
            return if Self::is_usual(&test) == Some(true) {
                left
            } else {
                right
            };
        }
        let merged = self.merged("value", left, right, (&mut then, &mut otherwise));
        self.emit_branches(&test, then, otherwise, conditional.span.start);
        merged
    }
}

/// A weight without the dust of binary fractions.
fn rounded(weight: f64) -> f64 {
    (weight * 1e6).round() / 1e6
}
