//! Values of expressions.

use std::rc::Rc;

use oxc_ast::ast::{
    Argument, ArrayExpressionElement, ChainElement, Expression, MemberExpression,
    ObjectPropertyKind, PropertyKey, SimpleAssignmentTarget, TemplateLiteral, UpdateOperator,
};
use oxc_span::GetSpan as _;

use super::comparison::Test;
use super::machine::{ITEMS_MAX, Machine, TEXT_LEN_MAX};
use super::text::Text;
use super::value::{Closure, ClosureBody, Value};

impl<'a> Machine<'a, '_> {
    /// The value of an expression; what it sends becomes steps.
    pub(super) fn evaluate(&mut self, expression: &'a Expression<'a>, scope: usize) -> Value<'a> {
        let at = expression.span().start;
        if self.is_exhausted || !self.work(at) || !self.enter(at) {
            return Value::unknown("the script is too long or nested too deeply");
        }
        let value = self.evaluate_entered(expression, scope);
        self.leave();
        value
    }

    #[expect(
        clippy::too_many_lines,
        reason = "a table: one row for each expression"
    )]
    fn evaluate_entered(&mut self, expression: &'a Expression<'a>, scope: usize) -> Value<'a> {
        if let Some(member) = expression.as_member_expression() {
            return self.member_expression(member, scope);
        }
        match expression {
            Expression::BooleanLiteral(literal) => Value::Bool(literal.value),
            Expression::NullLiteral(_) => Value::Null,
            Expression::NumericLiteral(literal) => Value::Number(literal.value),
            Expression::StringLiteral(literal) => Value::text(literal.value.as_str()),
            Expression::TemplateLiteral(literal) => {
                Value::Text(Rc::new(self.template_literal(literal, scope)))
            }
            Expression::RegExpLiteral(literal) => Value::Regex(Self::regex(literal)),
            Expression::Identifier(name) => self.identifier(name.name.as_str(), scope),
            Expression::ArrayExpression(array) => self.array(&array.elements, scope),
            Expression::ObjectExpression(object) => self.object(&object.properties, scope),
            Expression::ArrowFunctionExpression(function) => {
                let body = match function.body.as_expression() {
                    Some(expression) => ClosureBody::Expression(expression),
                    None => match &function.body {
                        oxc_ast::ast::ArrowFunctionBody::FunctionBody(body) => {
                            ClosureBody::Block(body)
                        }
                        _ => return Value::Undefined,
                    },
                };
                self.closure(&function.params, body, scope)
            }
            Expression::FunctionExpression(function) => match &function.body {
                Some(body) => self.closure(&function.params, ClosureBody::Block(body), scope),
                None => Value::Undefined,
            },
            Expression::ClassExpression(class) => self.class(class, scope),
            Expression::AssignmentExpression(assignment) => self.assignment(assignment, scope),
            Expression::AwaitExpression(awaited) => self.evaluate(&awaited.argument, scope),
            Expression::BinaryExpression(binary) => self.binary_expression(binary, scope),
            Expression::LogicalExpression(logical) => self.logical(logical, scope),
            Expression::UnaryExpression(unary) => {
                let value = self.evaluate(&unary.argument, scope);
                self.unary(unary.operator, &value, unary.span.start)
            }
            Expression::UpdateExpression(update) => self.update(update, scope),
            Expression::ConditionalExpression(conditional) => self.conditional(conditional, scope),
            Expression::CallExpression(call) => self.call_expression(call, scope),
            Expression::NewExpression(new) => self.new_expression(new, scope),
            Expression::ChainExpression(chain) => match &chain.expression {
                ChainElement::CallExpression(call) => self.call_expression(call, scope),
                ChainElement::TSNonNullExpression(inner) => self.evaluate(&inner.expression, scope),
                element => match element.as_member_expression() {
                    Some(member) => self.member_expression(member, scope),
                    None => Value::Undefined,
                },
            },
            Expression::ParenthesizedExpression(inner) => self.evaluate(&inner.expression, scope),
            Expression::SequenceExpression(sequence) => {
                let mut last = Value::Undefined;
                for expression in &sequence.expressions {
                    last = self.evaluate(expression, scope);
                }
                last
            }
            Expression::TaggedTemplateExpression(tagged) => self.tagged(tagged, scope),
            Expression::ThisExpression(_) => self
                .lookup(scope, "this")
                .cloned()
                .unwrap_or(Value::Undefined),
            Expression::TSAsExpression(inner) => self.evaluate(&inner.expression, scope),
            Expression::TSSatisfiesExpression(inner) => self.evaluate(&inner.expression, scope),
            Expression::TSTypeAssertion(inner) => self.evaluate(&inner.expression, scope),
            Expression::TSNonNullExpression(inner) => self.evaluate(&inner.expression, scope),
            Expression::TSInstantiationExpression(inner) => self.evaluate(&inner.expression, scope),
            other => Value::unknown(format!("{} is not followed", self.words(other.span()))),
        }
    }

    fn closure(
        &mut self,
        parameters: &'a oxc_ast::ast::FormalParameters<'a>,
        body: ClosureBody<'a>,
        scope: usize,
    ) -> Value<'a> {
        Value::Function(Rc::new(Closure {
            parameters: Some(parameters),
            body,
            scope,
            module: self.module,
            class: None,
        }))
    }

    fn identifier(&mut self, name: &'a str, scope: usize) -> Value<'a> {
        if let Some(value) = self.lookup(scope, name) {
            return value.clone();
        }
        super::native::global(name)
            .unwrap_or_else(|| Value::unknown(format!("`{name}` is not defined in the script")))
    }

    /// A template literal as a text.
    pub(super) fn template_literal(
        &mut self,
        literal: &'a TemplateLiteral<'a>,
        scope: usize,
    ) -> Text {
        let mut text = Text::default();
        for (index, quasi) in literal.quasis.iter().enumerate() {
            let cooked = quasi.value.cooked.as_ref().unwrap_or(&quasi.value.raw);
            text.push_str(cooked.as_str());
            if let Some(expression) = literal.expressions.get(index) {
                let value = self.evaluate(expression, scope);
                let part = self.text_of(&value, expression.span().start);
                text.push(&part);
            }
            if text
                .constant()
                .is_some_and(|text| text.len() > TEXT_LEN_MAX)
            {
                break;
            }
        }
        text
    }

    fn tagged(
        &mut self,
        tagged: &'a oxc_ast::ast::TaggedTemplateExpression<'a>,
        scope: usize,
    ) -> Value<'a> {
        let text = self.template_literal(&tagged.quasi, scope);
        let tag = self.evaluate(&tagged.tag, scope);
        match &tag {
            Value::Native(path) if &**path == "http.url" => {
                let mut label = Text::default();
                for (index, quasi) in tagged.quasi.quasis.iter().enumerate() {
                    label.push_str(quasi.value.raw.as_str());
                    if index + 1 < tagged.quasi.quasis.len() {
                        label.push_str("${}");
                    }
                }
                Value::Url(Rc::new((text, label)))
            }
            Value::Native(path) if path.ends_with("String.raw") => Value::Text(Rc::new(text)),
            _ => Value::unknown(format!("{} is not followed", self.words(tagged.span))),
        }
    }

    fn array(&mut self, elements: &'a [ArrayExpressionElement<'a>], scope: usize) -> Value<'a> {
        let mut items = Vec::new();
        for element in elements {
            match element {
                ArrayExpressionElement::SpreadElement(spread) => {
                    let value = self.evaluate(&spread.argument, scope);
                    items.extend(self.spread(&value, spread.span.start));
                }
                ArrayExpressionElement::Elision(_) => items.push(Value::Undefined),
                element => {
                    if let Some(expression) = element.as_expression() {
                        let value = self.evaluate(expression, scope);
                        items.push(value);
                    }
                }
            }
            if items.len() > ITEMS_MAX {
                break;
            }
        }
        Value::list(items)
    }

    /// The items of a value that is spread.
    pub(super) fn spread(&mut self, value: &Value<'a>, at: u32) -> Vec<Value<'a>> {
        match value {
            Value::List(list) => list.items.borrow().clone(),
            Value::Text(text) => match text.constant() {
                Some(text) => text.chars().map(|c| Value::text(c.to_string())).collect(),
                None => Vec::new(),
            },
            Value::Undefined | Value::Null | Value::Object(_) => Vec::new(),
            _ => {
                self.lose(
                    at,
                    "the items of a list",
                    "they are known only at run time",
                    "write the values into the plan, or record the script",
                );
                Vec::new()
            }
        }
    }

    fn object(&mut self, properties: &'a [ObjectPropertyKind<'a>], scope: usize) -> Value<'a> {
        let object = Value::object(Vec::new());
        for property in properties {
            match property {
                ObjectPropertyKind::SpreadProperty(spread) => {
                    let value = self.evaluate(&spread.argument, scope);
                    for (key, value) in value.entries() {
                        Self::set_field(&object, &key, value);
                    }
                }
                ObjectPropertyKind::ObjectProperty(property) => {
                    let Some(key) = self.property_key(&property.key, property.computed, scope)
                    else {
                        continue;
                    };
                    let value = self.evaluate(&property.value, scope);
                    Self::set_field(&object, &key, value);
                }
            }
        }
        object
    }

    pub(super) fn set_field(object: &Value<'a>, key: &str, value: Value<'a>) {
        if let Value::Object(object) = object
            && let Ok(mut object) = object.try_borrow_mut()
            && object.fields.len() < ITEMS_MAX
        {
            object.set(key, value);
        }
    }

    /// The name of a property.
    pub(super) fn property_key(
        &mut self,
        key: &'a PropertyKey<'a>,
        is_computed: bool,
        scope: usize,
    ) -> Option<String> {
        if !is_computed && let Some(name) = key.static_name() {
            return Some(name.into_owned());
        }
        let expression = key.as_expression()?;
        let value = self.evaluate(expression, scope);
        let text = self.text_of(&value, expression.span().start);
        let constant = text.constant().map(ToOwned::to_owned);
        if constant.is_none() {
            self.lose(
                expression.span().start,
                "a property",
                "its name is known only at run time",
                "write the name in the script",
            );
        }
        constant
    }

    pub(super) fn member_expression(
        &mut self,
        member: &'a MemberExpression<'a>,
        scope: usize,
    ) -> Value<'a> {
        match member {
            MemberExpression::StaticMemberExpression(member) => {
                let object = self.evaluate(&member.object, scope);
                self.member(&object, member.property.name.as_str(), member.span.start)
            }
            MemberExpression::ComputedMemberExpression(member) => {
                let object = self.evaluate(&member.object, scope);
                let key = self.evaluate(&member.expression, scope);
                self.item(&object, &key, member.span)
            }
            MemberExpression::PrivateFieldExpression(member) => {
                let object = self.evaluate(&member.object, scope);
                let name = format!("#{}", member.field.name.as_str());
                self.member(&object, &name, member.span.start)
            }
        }
    }

    /// Arguments of a call.
    pub(super) fn arguments(
        &mut self,
        arguments: &'a [Argument<'a>],
        scope: usize,
    ) -> Vec<Value<'a>> {
        let mut values = Vec::new();
        for argument in arguments {
            match argument {
                Argument::SpreadElement(spread) => {
                    let value = self.evaluate(&spread.argument, scope);
                    values.extend(self.spread(&value, spread.span.start));
                }
                argument => {
                    if let Some(expression) = argument.as_expression() {
                        let value = self.evaluate(expression, scope);
                        values.push(value);
                    }
                }
            }
        }
        values
    }

    fn logical(
        &mut self,
        logical: &'a oxc_ast::ast::LogicalExpression<'a>,
        scope: usize,
    ) -> Value<'a> {
        let left = self.evaluate(&logical.left, scope);
        if logical.operator.is_coalesce() {
            return match &left {
                Value::Undefined | Value::Null => self.evaluate(&logical.right, scope),
                Value::Variable(name, None) => {
                    let right = self.evaluate(&logical.right, scope);
                    self.with_default(name, &right)
                }
                _ => left,
            };
        }
        let is_or = logical.operator.is_or();
        if let (Value::Variable(name, None), true) = (&left, is_or) {
            let right = self.evaluate(&logical.right, scope);
            return self.with_default(name, &right);
        }
        match left.truth() {
            Some(truth) if truth == is_or => left,
            Some(_) => self.evaluate(&logical.right, scope),
            None => {
                let right = self.evaluate(&logical.right, scope);
                self.logical_at_run_time(left, right, is_or)
            }
        }
    }

    fn logical_at_run_time(&mut self, left: Value<'a>, right: Value<'a>, is_or: bool) -> Value<'a> {
        if matches!(left, Value::Unknown(_)) {
            return if is_or { right } else { left };
        }
        if let (true, Value::Answer(request, what), Value::Text(default)) = (is_or, &left, &right)
            && default.constant().is_some()
            && let Some(hole) = self.capture(*request, what)
        {
            self.default_capture(*request, &hole.expression, default);
            return Value::hole(hole);
        }
        let (Some(first), second) = (Test::of(&left), Test::of(&right)) else {
            return right;
        };
        match (second, right.truth()) {
            (Some(second), _) if is_or => Value::Test(Rc::new(Test::Or(first, second))),
            (Some(second), _) => Value::Test(Rc::new(Test::And(first, second))),
            (None, Some(truth)) if truth != is_or && matches!(right, Value::Bool(_)) => {
                Value::Test(first)
            }
            // `found || default`: the found value is what is meant.
            (None, _) if is_or => left,
            (None, _) => right,
        }
    }

    fn with_default(&mut self, name: &Rc<str>, right: &Value<'a>) -> Value<'a> {
        match right {
            Value::Text(_) | Value::Number(_) | Value::Bool(_) => {
                let text = self.text_of(right, 0);
                match text.constant() {
                    Some(text) => Value::Variable(Rc::clone(name), Some(Rc::from(text))),
                    None => right.clone(),
                }
            }
            Value::Variable(_, Some(default)) => {
                Value::Variable(Rc::clone(name), Some(Rc::clone(default)))
            }
            _ => right.clone(),
        }
    }

    fn update(
        &mut self,
        update: &'a oxc_ast::ast::UpdateExpression<'a>,
        scope: usize,
    ) -> Value<'a> {
        let step = match update.operator {
            UpdateOperator::Increment => 1.0,
            UpdateOperator::Decrement => -1.0,
        };
        let at = update.span.start;
        let old = self.target_value(&update.argument, scope);
        let new = self.arithmetic(
            oxc_ast::ast::BinaryOperator::Addition,
            &old,
            &Value::Number(step),
            at,
        );
        self.set_simple_target(&update.argument, new.clone(), scope);
        if update.prefix { new } else { old }
    }

    fn target_value(&mut self, target: &'a SimpleAssignmentTarget<'a>, scope: usize) -> Value<'a> {
        if let Some(member) = target.as_member_expression() {
            return self.member_expression(member, scope);
        }
        match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(name) => {
                self.identifier(name.name.as_str(), scope)
            }
            other => match other.get_expression() {
                Some(expression) => self.evaluate(expression, scope),
                None => Value::Undefined,
            },
        }
    }
}
