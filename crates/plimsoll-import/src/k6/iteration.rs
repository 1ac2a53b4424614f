//! Loops: a `repeat` where each round is the same, else all rounds one after another.

use oxc_ast::ast::{ForStatement, ForStatementInit, ForStatementLeft, Statement};
use oxc_span::{GetSpan as _, Span};

use super::machine::{Journal, Machine};
use super::node::Node;
use super::number;
use super::statement::Flow;
use super::value::Value;

/// Rounds of a loop that are followed to find its end.
const ROUNDS_MAX: usize = 5_000;
/// Fewest rounds for which a `repeat` is worth it.
const REPEAT_MIN: usize = 2;

impl<'a> Machine<'a, '_> {
    pub(super) fn loop_statement(
        &mut self,
        statement: &'a Statement<'a>,
        scope: usize,
    ) -> Flow<'a> {
        let inner = self.scope(scope);
        match statement {
            Statement::ForStatement(statement) => self.for_statement(statement, inner),
            Statement::ForOfStatement(statement) => {
                let list = self.evaluate(&statement.right, scope);
                let items = self.loop_items(&list, statement.right.span());
                self.rounds(&statement.left, &statement.body, items, inner)
            }
            Statement::ForInStatement(statement) => {
                let object = self.evaluate(&statement.right, scope);
                let keys = object
                    .entries()
                    .into_iter()
                    .map(|(key, _)| Value::text(key));
                let keys = keys.collect();
                self.rounds(&statement.left, &statement.body, keys, inner)
            }
            Statement::WhileStatement(statement) => {
                self.while_loop(&statement.test, &statement.body, false, inner)
            }
            Statement::DoWhileStatement(statement) => {
                self.while_loop(&statement.test, &statement.body, true, inner)
            }
            _ => Flow::Next,
        }
    }

    /// The items that a loop goes through.
    pub(super) fn loop_items(&mut self, list: &Value<'a>, span: Span) -> Vec<Value<'a>> {
        let words = self.words(span);
        match list {
            Value::List(list) => {
                if list.is_cut.get() {
                    self.lose(
                        span.start,
                        format!("a loop over {words}"),
                        "the list is longer than what is read of it",
                        "use `data:` with `pick: in order`",
                    );
                }
                list.items.borrow().clone()
            }
            Value::Answer(request, what) => {
                if let super::answer::Answer::Json(json) = &**what {
                    self.lose(
                        span.start,
                        format!("a loop over {words}"),
                        super::response::ONE_ITEM,
                        "write a `repeat` around these steps",
                    );
                    return vec![self.drawn_item(*request, json)];
                }
                self.lose(
                    span.start,
                    format!("a loop over {words}"),
                    "it is known only at run time",
                    "write a `repeat` with its steps, or record the script",
                );
                Vec::new()
            }
            Value::Text(_) => self.spread(list, span.start),
            Value::Undefined | Value::Null => Vec::new(),
            _ => {
                self.lose(
                    span.start,
                    format!("a loop over {words}"),
                    "what it goes through is known only at run time",
                    "write a `repeat` with its steps, or record the script",
                );
                Vec::new()
            }
        }
    }

    fn rounds(
        &mut self,
        left: &'a ForStatementLeft<'a>,
        body: &'a Statement<'a>,
        items: Vec<Value<'a>>,
        scope: usize,
    ) -> Flow<'a> {
        for item in items {
            if self.is_exhausted {
                break;
            }
            let round = self.scope(scope);
            match left {
                ForStatementLeft::VariableDeclaration(declaration) => {
                    if let Some(declarator) = declaration.declarations.first() {
                        self.bind(&declarator.id, item, round);
                    }
                }
                left => {
                    if let Some(target) = left.as_assignment_target() {
                        self.assign_target(target, item, round);
                    }
                }
            }
            match self.statement(body, round) {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                flow => return flow,
            }
        }
        Flow::Next
    }

    fn for_statement(&mut self, statement: &'a ForStatement<'a>, scope: usize) -> Flow<'a> {
        let mut variable = None;
        match &statement.init {
            Some(ForStatementInit::VariableDeclaration(declaration)) => {
                self.declaration(declaration, scope);
                variable = declaration
                    .declarations
                    .first()
                    .and_then(|candidate| candidate.id.get_identifier_name());
            }
            Some(init) => {
                if let Some(expression) = init.as_expression() {
                    self.evaluate(expression, scope);
                }
            }
            None => {}
        }
        if let Some(variable) = variable {
            if let Some(count) = self.random_count(statement, scope) {
                return self.repeated(count, &statement.body, scope);
            }
            if let Some(count) = self.plain_count(statement, variable.as_str(), scope) {
                return self.repeated(count, &statement.body, scope);
            }
        }
        for round in 0..ROUNDS_MAX {
            if self.is_exhausted {
                return Flow::End;
            }
            if let Some(test) = &statement.test {
                let value = self.evaluate(test, scope);
                match value.truth() {
                    Some(true) => {}
                    Some(false) => return Flow::Next,
                    None => {
                        return self.loop_at_run_time(&statement.body, test.span(), round, scope);
                    }
                }
            }
            let inner = self.scope(scope);
            match self.statement(&statement.body, inner) {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Flow::Next,
                flow => return flow,
            }
            if let Some(update) = &statement.update {
                self.evaluate(update, scope);
            }
        }
        self.endless(statement.span.start);
        Flow::Next
    }

    /// `for (let i = 0; i < random; i++)`: from one to another number of rounds.
    fn random_count(&mut self, statement: &'a ForStatement<'a>, scope: usize) -> Option<String> {
        let oxc_ast::ast::Expression::BinaryExpression(test) = statement.test.as_ref()? else {
            return None;
        };
        let start = self.evaluate(&test.left, scope);
        let Value::Number(start) = start else {
            return None;
        };
        let end = self.evaluate(&test.right, scope);
        let Value::Random(random) = end else {
            return None;
        };
        let more = i64::from(test.operator == oxc_ast::ast::BinaryOperator::LessEqualThan);
        let low = number::whole(random.low.ceil() - start)?.max(0) + more;
        let high = number::whole(random.high.floor() - start)?.max(0) + more;
        Some(format!("{low}..{high}"))
    }

    /// The number of rounds of a loop whose body does not mention its variable.
    fn plain_count(
        &mut self,
        statement: &'a ForStatement<'a>,
        variable: &str,
        scope: usize,
    ) -> Option<String> {
        let body = self.source(statement.body.span());
        let mentions = body
            .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
            .any(|word| word == variable);
        let leaves = ["break", "return", ".push(", "++", "--", "+="]
            .iter()
            .any(|word| body.contains(word));
        if mentions || leaves {
            return None;
        }
        let (test, update) = (statement.test.as_ref()?, statement.update.as_ref()?);
        let mut count = 0;
        while count < ROUNDS_MAX * 20 {
            let value = self.evaluate(test, scope);
            if !value.truth()? {
                break;
            }
            self.evaluate(update, scope);
            count += 1;
        }
        (REPEAT_MIN..ROUNDS_MAX * 20)
            .contains(&count)
            .then(|| count.to_string())
    }

    /// The body of a loop once, as steps that repeat.
    fn repeated(&mut self, times: String, body: &'a Statement<'a>, scope: usize) -> Flow<'a> {
        self.journals.push(Journal::new());
        self.open();
        let inner = self.scope(scope);
        let flow = self.statement(body, inner);
        let steps = self.close();
        let journal = self.journals.pop().unwrap_or_default();
        if let Some(outer) = self.journals.last_mut() {
            outer.extend(journal);
        }
        if !steps.is_empty() {
            self.emit(Node::Repeat { times, steps });
        }
        match flow {
            Flow::Return(_) | Flow::End => flow,
            _ => Flow::Next,
        }
    }

    fn while_loop(
        &mut self,
        test: &'a oxc_ast::ast::Expression<'a>,
        body: &'a Statement<'a>,
        is_first_free: bool,
        scope: usize,
    ) -> Flow<'a> {
        for round in 0..ROUNDS_MAX {
            if self.is_exhausted {
                return Flow::End;
            }
            if round > 0 || !is_first_free {
                let value = self.evaluate(test, scope);
                match value.truth() {
                    Some(true) => {}
                    Some(false) => return Flow::Next,
                    None => return self.loop_at_run_time(body, test.span(), round, scope),
                }
            }
            let inner = self.scope(scope);
            match self.statement(body, inner) {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Flow::Next,
                flow => return flow,
            }
        }
        self.endless(test.span().start);
        Flow::Next
    }

    /// A loop whose end is known only at run time.
    fn loop_at_run_time(
        &mut self,
        body: &'a Statement<'a>,
        test: Span,
        round: usize,
        scope: usize,
    ) -> Flow<'a> {
        let words = self.words(test);
        self.lose(
            test.start,
            format!("the loop while {words}"),
            "its end is known only at run time; its steps are taken once",
            "write a `repeat` with its steps",
        );
        if round > 0 {
            return Flow::Next;
        }
        let inner = self.scope(scope);
        match self.statement(body, inner) {
            flow @ (Flow::Return(_) | Flow::End) => flow,
            _ => Flow::Next,
        }
    }

    fn endless(&mut self, at: u32) {
        self.lose(
            at,
            "the rest of a loop",
            "it has more than 5,000 rounds",
            "write a `repeat` with its steps",
        );
    }
}
