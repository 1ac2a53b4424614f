//! Statements: followed in order; what they send becomes steps.

use oxc_ast::ast::{
    AssignmentExpression, AssignmentOperator, AssignmentTarget, AssignmentTargetMaybeDefault,
    AssignmentTargetProperty, BinaryOperator, Declaration, Expression, MemberExpression,
    SimpleAssignmentTarget, Statement, TryStatement, VariableDeclaration,
};
use oxc_span::GetSpan as _;

use super::answer::Answer;
use super::machine::Machine;
use super::text::Text;
use super::value::Value;
use crate::script::draft::PickDraft;

/// How a statement ends.
#[derive(Clone, Debug)]
pub(super) enum Flow<'a> {
    Next,
    Return(Value<'a>),
    Break,
    Continue,
    /// The iteration ends.
    End,
}

impl<'a> Machine<'a, '_> {
    /// Follows the body of a function.
    pub(super) fn function_body(&mut self, body: &'a [Statement<'a>], scope: usize) -> Flow<'a> {
        self.hoist(body, scope);
        self.statements(body, scope, true)
    }

    /// Functions are known before their declaration.
    pub(super) fn hoist(&mut self, body: &'a [Statement<'a>], scope: usize) {
        for statement in body {
            let function = match statement {
                Statement::FunctionDeclaration(function) => function,
                Statement::ExportDeclaration(export) => match &export.declaration {
                    Declaration::FunctionDeclaration(function) => function,
                    _ => continue,
                },
                _ => continue,
            };
            if let (Some(name), Some(body)) = (&function.id, &function.body) {
                let value = self.function_value(&function.params, body, scope);
                self.declare(scope, name.name.as_str(), value);
            }
        }
    }

    /// A function as a value.
    pub(super) fn function_value(
        &self,
        parameters: &'a oxc_ast::ast::FormalParameters<'a>,
        body: &'a oxc_ast::ast::FunctionBody<'a>,
        scope: usize,
    ) -> Value<'a> {
        Value::Function(std::rc::Rc::new(super::value::Closure {
            parameters: Some(parameters),
            body: super::value::ClosureBody::Block(body),
            scope,
            module: self.module,
            class: None,
        }))
    }

    /// Follows statements. `is_body`: they are the whole body of a function, so that a condition around a `return`
    /// holds for what follows.
    pub(super) fn statements(
        &mut self,
        statements: &'a [Statement<'a>],
        scope: usize,
        is_body: bool,
    ) -> Flow<'a> {
        for (index, statement) in statements.iter().enumerate() {
            let rest = if is_body {
                &statements[index + 1..]
            } else {
                &[]
            };
            if let (Statement::IfStatement(condition), true) = (statement, is_body) {
                match self.if_statement(condition, rest, scope) {
                    (Flow::Next, false) => continue,
                    (flow, _) => return flow,
                }
            }
            match self.statement(statement, scope) {
                Flow::Next => {}
                flow => return flow,
            }
        }
        Flow::Next
    }

    pub(super) fn statement(&mut self, statement: &'a Statement<'a>, scope: usize) -> Flow<'a> {
        let at = statement.span().start;
        if self.is_exhausted || !self.work(at) || !self.enter(at) {
            return Flow::End;
        }
        let flow = self.statement_entered(statement, scope);
        self.leave();
        flow
    }

    fn statement_entered(&mut self, statement: &'a Statement<'a>, scope: usize) -> Flow<'a> {
        match statement {
            Statement::BlockStatement(block) => {
                let inner = self.scope(scope);
                self.hoist(&block.body, inner);
                self.statements(&block.body, inner, false)
            }
            Statement::ExpressionStatement(statement) => {
                self.expression_statement(&statement.expression, scope)
            }
            Statement::VariableDeclaration(declaration) => {
                self.declaration(declaration, scope);
                Flow::Next
            }
            Statement::ClassDeclaration(class) => {
                let value = self.class(class, scope);
                if let Some(name) = &class.id {
                    self.declare(scope, name.name.as_str(), value);
                }
                Flow::Next
            }
            Statement::IfStatement(condition) => self.if_statement(condition, &[], scope).0,
            Statement::ReturnStatement(statement) => {
                let value = statement
                    .argument
                    .as_ref()
                    .map_or(Value::Undefined, |value| self.evaluate(value, scope));
                Flow::Return(self.settled(value, "result"))
            }
            Statement::ForStatement(_)
            | Statement::ForOfStatement(_)
            | Statement::ForInStatement(_)
            | Statement::WhileStatement(_)
            | Statement::DoWhileStatement(_) => self.loop_statement(statement, scope),
            Statement::SwitchStatement(switch) => self.switch_statement(switch, scope),
            Statement::TryStatement(statement) => self.try_statement(statement, scope),
            Statement::ThrowStatement(_) => Flow::End,
            Statement::BreakStatement(_) => Flow::Break,
            Statement::ContinueStatement(_) => Flow::Continue,
            Statement::LabeledStatement(labeled) => self.statement(&labeled.body, scope),
            Statement::WithStatement(with) => {
                self.lose(
                    with.span.start,
                    "with",
                    "it is not followed",
                    "write the names in full",
                );
                Flow::Next
            }
            _ => Flow::Next,
        }
    }

    fn expression_statement(&mut self, expression: &'a Expression<'a>, scope: usize) -> Flow<'a> {
        if let Expression::CallExpression(call) = expression.get_inner_expression()
            && let Expression::Identifier(name) = &call.callee
            && matches!(self.lookup(scope, name.name.as_str()), Some(Value::Native(path)) if &**path == "k6.fail")
        {
            return Flow::End;
        }
        self.evaluate(expression, scope);
        Flow::Next
    }

    /// Declares variables.
    pub(super) fn declaration(&mut self, declaration: &'a VariableDeclaration<'a>, scope: usize) {
        for declarator in &declaration.declarations {
            let value = match &declarator.init {
                Some(init) => self.evaluate(init, scope),
                None => Value::Undefined,
            };
            let hint = declarator
                .id
                .get_identifier_name()
                .map_or("value", |name| name.as_str());
            let value = self.settled(value, hint);
            self.bind(&declarator.id, value, scope);
        }
    }

    /// A value that is the same at each use: what would be drawn anew becomes a variable of the plan.
    pub(super) fn settled(&mut self, value: Value<'a>, hint: &str) -> Value<'a> {
        match &value {
            Value::Text(text) if text.is_volatile() => {
                let hole = self.set(hint, &Text::clone(text));
                Value::hole(hole)
            }
            Value::Random(random) if random.is_whole => {
                if !self.random_slots.contains_key(&random.id) {
                    let text = self.text_of(&value, 0);
                    let hole = self.set(hint, &text);
                    self.random_slots.insert(random.id, hole.expression);
                }
                value
            }
            Value::Answer(request, what) => match &**what {
                Answer::Json(json)
                    if json.pick == PickDraft::Random && !json.path.ends_with("[*]") =>
                {
                    match self.capture(*request, what) {
                        Some(hole) => Value::hole(hole),
                        None => value,
                    }
                }
                _ => value,
            },
            Value::Object(object) => {
                let fields = object.borrow().fields.clone();
                for (name, field) in fields {
                    let is_drawn = match &field {
                        Value::Text(text) => text.is_volatile(),
                        Value::Random(random) => !self.random_slots.contains_key(&random.id),
                        Value::Object(_) => true,
                        _ => false,
                    };
                    if is_drawn && self.enter(0) {
                        let field = self.settled(field, &name);
                        self.leave();
                        Self::set_field(&value, &name, field);
                    }
                }
                value
            }
            _ => value,
        }
    }

    pub(super) fn assignment(
        &mut self,
        assignment: &'a AssignmentExpression<'a>,
        scope: usize,
    ) -> Value<'a> {
        let at = assignment.span.start;
        let hint = match &assignment.left {
            AssignmentTarget::AssignmentTargetIdentifier(name) => name.name.as_str(),
            AssignmentTarget::StaticMemberExpression(member) => member.property.name.as_str(),
            _ => "value",
        };
        let operator = match assignment.operator {
            AssignmentOperator::Assign => None,
            AssignmentOperator::Addition => Some(BinaryOperator::Addition),
            AssignmentOperator::Subtraction => Some(BinaryOperator::Subtraction),
            AssignmentOperator::Multiplication => Some(BinaryOperator::Multiplication),
            AssignmentOperator::Division => Some(BinaryOperator::Division),
            AssignmentOperator::Remainder => Some(BinaryOperator::Remainder),
            AssignmentOperator::LogicalOr
            | AssignmentOperator::LogicalNullish
            | AssignmentOperator::LogicalAnd => {
                let old = self.assigned_value(&assignment.left, scope);
                let is_kept = match assignment.operator {
                    AssignmentOperator::LogicalAnd => old.truth() == Some(false),
                    AssignmentOperator::LogicalOr => old.truth() == Some(true),
                    _ => !old.is_nothing(),
                };
                if is_kept {
                    return old;
                }
                None
            }
            _ => Some(BinaryOperator::BitwiseOR),
        };
        let right = self.evaluate(&assignment.right, scope);
        let value = match operator {
            None => right,
            Some(operator) => {
                let old = self.assigned_value(&assignment.left, scope);
                self.arithmetic(operator, &old, &right, at)
            }
        };
        let value = self.settled(value, hint);
        self.assign_target(&assignment.left, value.clone(), scope);
        value
    }

    fn assigned_value(&mut self, target: &'a AssignmentTarget<'a>, scope: usize) -> Value<'a> {
        if let Some(member) = target.as_member_expression() {
            return self.member_expression(member, scope);
        }
        match target {
            AssignmentTarget::AssignmentTargetIdentifier(name) => self
                .lookup(scope, name.name.as_str())
                .cloned()
                .unwrap_or(Value::Undefined),
            _ => Value::Undefined,
        }
    }

    /// Gives a target of an assignment its value.
    pub(super) fn assign_target(
        &mut self,
        target: &'a AssignmentTarget<'a>,
        value: Value<'a>,
        scope: usize,
    ) {
        match target {
            AssignmentTarget::ArrayAssignmentTarget(array) => {
                for (index, element) in array.elements.iter().enumerate() {
                    if let Some(element) = element {
                        let key = Value::Number(super::number::of(index));
                        let item = self.item(&value, &key, array.span);
                        self.assign_maybe(element, item, scope);
                    }
                }
            }
            AssignmentTarget::ObjectAssignmentTarget(object) => {
                for property in &object.properties {
                    match property {
                        AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(property) => {
                            let name = property.binding.name.as_str();
                            let member = self.member(&value, name, property.span.start);
                            self.assign(scope, name, member);
                        }
                        AssignmentTargetProperty::AssignmentTargetPropertyProperty(property) => {
                            if let Some(key) =
                                self.property_key(&property.name, property.computed, scope)
                            {
                                let member = self.member(&value, &key, property.span.start);
                                self.assign_maybe(&property.binding, member, scope);
                            }
                        }
                    }
                }
            }
            target => {
                if let Some(simple) = target.as_simple_assignment_target() {
                    self.set_simple_target(simple, value, scope);
                }
            }
        }
    }

    fn assign_maybe(
        &mut self,
        target: &'a AssignmentTargetMaybeDefault<'a>,
        value: Value<'a>,
        scope: usize,
    ) {
        match target {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(with) => {
                let value = match value {
                    Value::Undefined => self.evaluate(&with.init, scope),
                    value => value,
                };
                self.assign_target(&with.binding, value, scope);
            }
            target => {
                if let Some(target) = target.as_assignment_target() {
                    self.assign_target(target, value, scope);
                }
            }
        }
    }

    pub(super) fn set_simple_target(
        &mut self,
        target: &'a SimpleAssignmentTarget<'a>,
        value: Value<'a>,
        scope: usize,
    ) {
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(name) = target {
            Self::name_list(&value, name.name.as_str());
            self.assign(scope, name.name.as_str(), value);
            return;
        }
        let Some(member) = target.as_member_expression() else {
            return;
        };
        let (object, key) = match member {
            MemberExpression::StaticMemberExpression(member) => {
                let object = self.evaluate(&member.object, scope);
                (object, Some(member.property.name.as_str().to_owned()))
            }
            MemberExpression::PrivateFieldExpression(member) => {
                let object = self.evaluate(&member.object, scope);
                (object, Some(format!("#{}", member.field.name.as_str())))
            }
            MemberExpression::ComputedMemberExpression(member) => {
                let object = self.evaluate(&member.object, scope);
                let key = self.evaluate(&member.expression, scope);
                let key = match &key {
                    Value::Number(number) => Some(super::number::shown(*number)),
                    key => self.known_text(key),
                };
                (object, key)
            }
        };
        self.set_member(&object, key, value, member.span().start);
    }

    fn set_member(&mut self, object: &Value<'a>, key: Option<String>, value: Value<'a>, at: u32) {
        let Some(key) = key else {
            self.lose(
                at,
                "an assignment",
                "the name of the field is known only at run time",
                "write the value into the plan",
            );
            return;
        };
        match object {
            Value::Object(_) => Self::set_field(object, &key, value),
            Value::List(list) => {
                list.source.borrow_mut().take();
                let mut items = list.items.borrow_mut();
                if let Ok(index) = key.parse::<usize>()
                    && index < super::machine::ITEMS_MAX
                {
                    while items.len() <= index {
                        items.push(Value::Undefined);
                    }
                    items[index] = value;
                }
            }
            Value::Native(path) if &**path == "globalThis" => {
                let name: &'a str = self.allocator.alloc_str(&key);
                self.scopes[0].names.insert(name, value);
            }
            Value::Socket(socket) => self.set_handler(*socket, &key, value, at),
            _ => {}
        }
    }

    fn try_statement(&mut self, statement: &'a TryStatement<'a>, scope: usize) -> Flow<'a> {
        let inner = self.scope(scope);
        let flow = self.statements(&statement.block.body, inner, false);
        if let Some(handler) = &statement.handler {
            let source = self.source(handler.span);
            if ["http.", "sleep(", "fail("]
                .iter()
                .any(|word| source.contains(word))
            {
                self.lose(
                    handler.span.start,
                    "the steps of a `catch`",
                    "a plan has no exceptions; a failed request ends the iteration",
                    "write an `if` on what the step before captures",
                );
            }
        }
        if let Some(finalizer) = &statement.finalizer {
            let inner = self.scope(scope);
            let last = self.statements(&finalizer.body, inner, false);
            if !matches!(last, Flow::Next) {
                return last;
            }
        }
        flow
    }
}
