//! Calls: functions of the script are followed in place, methods are found by what they are called on.

use std::rc::Rc;

use oxc_ast::ast::{
    BindingPattern, CallExpression, Class, ClassElement, Expression, FormalParameters,
    MethodDefinitionKind, NewExpression,
};
use oxc_span::GetSpan as _;

use super::machine::{ClassDraft, Machine};
use super::statement::Flow;
use super::text::Hole;
use super::value::{Closure, ClosureBody, Value};

impl<'a> Machine<'a, '_> {
    pub(super) fn call_expression(
        &mut self,
        call: &'a CallExpression<'a>,
        scope: usize,
    ) -> Value<'a> {
        let at = call.span.start;
        if let Expression::Super(_) = &call.callee {
            let arguments = self.arguments(&call.arguments, scope);
            return self.super_call(&arguments, at, scope);
        }
        let callee = call.callee.get_inner_expression();
        let Some(member) = callee.as_member_expression() else {
            let function = self.evaluate(callee, scope);
            let arguments = self.arguments(&call.arguments, scope);
            return self.call(&function, &arguments, None, at);
        };
        let object = self.evaluate(member.object(), scope);
        if matches!(&object, Value::Native(path) if &**path == "console" || &**path == "metric") {
            return Value::Undefined;
        }
        let name = match member.static_property_name() {
            Some(name) => name.to_owned(),
            None => match member {
                oxc_ast::ast::MemberExpression::ComputedMemberExpression(member) => {
                    let key = self.evaluate(&member.expression, scope);
                    match self.known_text(&key) {
                        Some(key) => key,
                        None => return self.call_item(&object, &key, call, scope),
                    }
                }
                oxc_ast::ast::MemberExpression::PrivateFieldExpression(member) => {
                    format!("#{}", member.field.name.as_str())
                }
                oxc_ast::ast::MemberExpression::StaticMemberExpression(member) => {
                    member.property.name.as_str().to_owned()
                }
            },
        };
        let arguments = self.arguments(&call.arguments, scope);
        self.call_method(&object, &name, &arguments, at)
    }

    /// A function out of a list: `actions[n]()`.
    fn call_item(
        &mut self,
        object: &Value<'a>,
        key: &Value<'a>,
        call: &'a CallExpression<'a>,
        scope: usize,
    ) -> Value<'a> {
        let items = object.items();
        let arguments = self.arguments(&call.arguments, scope);
        if let (Value::Random(_), true) = (key, items.iter().all(Value::is_function)) {
            return self.choose_among(&items, &arguments, call.span.start);
        }
        let function = self.item(object, key, call.callee.span());
        self.call(&function, &arguments, None, call.span.start)
    }

    /// Calls one of several functions, each as likely as the others.
    pub(super) fn choose_among(
        &mut self,
        functions: &[Value<'a>],
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        let mut branches = Vec::new();
        for function in functions {
            self.open();
            self.call(function, arguments, None, at);
            branches.push((1.0, self.close()));
        }
        self.emit(super::node::Node::Choose(branches));
        Value::unknown("the result of one of several functions")
    }

    /// Calls a value.
    pub(super) fn call(
        &mut self,
        function: &Value<'a>,
        arguments: &[Value<'a>],
        this: Option<Value<'a>>,
        at: u32,
    ) -> Value<'a> {
        match function {
            Value::Function(closure) => self.invoke(closure, arguments, this, at),
            Value::Native(path) => self.call_native(&Rc::clone(path), arguments, at),
            Value::Unknown(why) => {
                let why = why.to_string();
                self.lose(
                    at,
                    "a call",
                    &why,
                    "write its steps into the plan, or record the script",
                );
                Value::Unknown(Rc::from(why.as_str()))
            }
            Value::Undefined => Value::unknown("a function that the script does not define"),
            _ => Value::unknown("a call of a value that is not a function"),
        }
    }

    /// Follows a function of the script with these arguments.
    pub(super) fn invoke(
        &mut self,
        closure: &Rc<Closure<'a>>,
        arguments: &[Value<'a>],
        this: Option<Value<'a>>,
        at: u32,
    ) -> Value<'a> {
        if !self.enter_call(at) {
            return Value::unknown("a recursive function");
        }
        let scope = self.scope(closure.scope);
        let module = std::mem::replace(&mut self.module, closure.module);
        if let Some(this) = this {
            self.declare(scope, "this", this);
        }
        if let Some(class) = closure.class {
            self.declare(
                scope,
                "super class",
                Value::Number(super::number::of(class)),
            );
        }
        if let Some(parameters) = closure.parameters {
            self.bind_parameters(parameters, arguments, scope);
        }
        let value = match closure.body {
            ClosureBody::Expression(expression) => self.evaluate(expression, scope),
            ClosureBody::Class => Value::Undefined,
            ClosureBody::Block(body) => match self.function_body(&body.statements, scope) {
                Flow::Return(value) => value,
                _ => Value::Undefined,
            },
        };
        self.module = module;
        self.leave_call();
        value
    }

    fn bind_parameters(
        &mut self,
        parameters: &'a FormalParameters<'a>,
        arguments: &[Value<'a>],
        scope: usize,
    ) {
        for (index, parameter) in parameters.items.iter().enumerate() {
            let mut value = arguments.get(index).cloned().unwrap_or(Value::Undefined);
            if let (Value::Undefined, Some(default)) = (&value, &parameter.initializer) {
                value = self.evaluate(default, scope);
            }
            self.bind(&parameter.pattern, value, scope);
        }
        if let Some(rest) = &parameters.rest {
            let from = parameters.items.len().min(arguments.len());
            let value = Value::list(arguments[from..].to_vec());
            self.bind(&rest.rest.argument, value, scope);
        }
    }

    /// Gives the names of a pattern their values.
    pub(super) fn bind(&mut self, pattern: &'a BindingPattern<'a>, value: Value<'a>, scope: usize) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                Self::name_list(&value, name.name.as_str());
                self.declare(scope, name.name.as_str(), value);
            }
            BindingPattern::AssignmentPattern(assignment) => {
                let value = match value {
                    Value::Undefined => self.evaluate(&assignment.right, scope),
                    value => value,
                };
                self.bind(&assignment.left, value, scope);
            }
            BindingPattern::ObjectPattern(object) => {
                let mut taken = Vec::new();
                for property in &object.properties {
                    let Some(key) = self.property_key(&property.key, property.computed, scope)
                    else {
                        continue;
                    };
                    let member = self.member(&value, &key, property.span.start);
                    self.bind(&property.value, member, scope);
                    taken.push(key);
                }
                if let Some(rest) = &object.rest {
                    let fields = value.entries().into_iter();
                    let rest_value =
                        Value::object(fields.filter(|(key, _)| !taken.contains(key)).collect());
                    self.bind(&rest.argument, rest_value, scope);
                }
            }
            BindingPattern::ArrayPattern(array) => {
                for (index, element) in array.elements.iter().enumerate() {
                    if let Some(element) = element {
                        let key = Value::Number(super::number::of(index));
                        let item = self.item(&value, &key, array.span);
                        self.bind(element, item, scope);
                    }
                }
                if let Some(rest) = &array.rest {
                    let items: Vec<_> = value
                        .items()
                        .into_iter()
                        .skip(array.elements.len())
                        .collect();
                    self.bind(&rest.argument, Value::list(items), scope);
                }
            }
        }
    }

    /// Remembers what the script calls a list.
    pub(super) fn name_list(value: &Value<'a>, name: &str) {
        if let Value::List(list) = value {
            list.name
                .borrow_mut()
                .get_or_insert_with(|| name.to_owned());
        }
    }

    pub(super) fn new_expression(&mut self, new: &'a NewExpression<'a>, scope: usize) -> Value<'a> {
        let at = new.span.start;
        let callee = self.evaluate(&new.callee, scope);
        let arguments = self.arguments(&new.arguments, scope);
        match &callee {
            Value::Native(path) => self.new_native(&Rc::clone(path), &arguments, at),
            Value::Function(closure) if closure.class.is_some() => {
                let object = Value::object(Vec::new());
                self.construct(closure.class.unwrap_or(0), &object, &arguments, at);
                object
            }
            Value::Function(closure) => {
                let object = Value::object(Vec::new());
                self.invoke(&Rc::clone(closure), &arguments, Some(object.clone()), at);
                object
            }
            Value::Unknown(why) => Value::Unknown(Rc::clone(why)),
            _ => Value::unknown("an object of a class that the script does not define"),
        }
    }

    /// A class as a value.
    pub(super) fn class(&mut self, class: &'a Class<'a>, scope: usize) -> Value<'a> {
        let parent = class.heritage.as_ref().and_then(|heritage| {
            match self.evaluate(&heritage.expression, scope) {
                Value::Function(closure) => closure.class,
                _ => None,
            }
        });
        self.classes.push(ClassDraft {
            class,
            scope,
            module: self.module,
            parent,
        });
        Value::Function(Rc::new(Closure {
            parameters: None,
            body: ClosureBody::Class,
            scope,
            module: self.module,
            class: Some(self.classes.len() - 1),
        }))
    }

    fn construct(&mut self, class: usize, object: &Value<'a>, arguments: &[Value<'a>], at: u32) {
        let Some(draft) = self.classes.get(class) else {
            return;
        };
        let (body, scope, module, parent) =
            (&draft.class.body, draft.scope, draft.module, draft.parent);
        if let Some(parent) = parent.filter(|parent| *parent < class) {
            self.add_methods(parent, object);
        }
        self.add_methods(class, object);
        let inner = self.scope(scope);
        self.declare(inner, "this", object.clone());
        let mut constructor = None;
        let outer = std::mem::replace(&mut self.module, module);
        for element in &body.body {
            match element {
                ClassElement::PropertyDefinition(property) if !property.r#static => {
                    let key = match &property.key {
                        oxc_ast::ast::PropertyKey::PrivateIdentifier(name) => {
                            Some(format!("#{}", name.name.as_str()))
                        }
                        key => self.property_key(key, property.computed, inner),
                    };
                    let value = property
                        .value
                        .as_ref()
                        .map_or(Value::Undefined, |value| self.evaluate(value, inner));
                    if let Some(key) = key {
                        Self::set_field(object, &key, value);
                    }
                }
                ClassElement::MethodDefinition(method)
                    if method.kind == MethodDefinitionKind::Constructor =>
                {
                    constructor = method
                        .value
                        .body
                        .as_ref()
                        .map(|body| (&method.value.params, body));
                }
                _ => {}
            }
        }
        self.module = outer;
        match (constructor, parent) {
            (Some((parameters, body)), _) => {
                let closure = Rc::new(Closure {
                    parameters: Some(parameters),
                    body: ClosureBody::Block(body),
                    scope: inner,
                    module,
                    class: parent,
                });
                self.invoke(&closure, arguments, Some(object.clone()), at);
            }
            (None, Some(parent)) if parent < class => self.construct(parent, object, arguments, at),
            _ => {}
        }
    }

    fn super_call(&mut self, arguments: &[Value<'a>], at: u32, scope: usize) -> Value<'a> {
        let this = self.lookup(scope, "this").cloned();
        let class = self.lookup(scope, "super class").cloned();
        if let (Some(this), Some(Value::Number(class))) = (this, class)
            && let Some(class) = super::number::index(class)
        {
            self.construct(class, &this, arguments, at);
        }
        Value::Undefined
    }

    fn add_methods(&mut self, class: usize, object: &Value<'a>) {
        let draft = &self.classes[class];
        let (body, scope, module) = (&draft.class.body, draft.scope, draft.module);
        for element in &body.body {
            let ClassElement::MethodDefinition(method) = element else {
                continue;
            };
            let name = match &method.key {
                oxc_ast::ast::PropertyKey::PrivateIdentifier(name) => {
                    Some(format!("#{}", name.name.as_str()))
                }
                key => key.static_name().map(std::borrow::Cow::into_owned),
            };
            if let (Some(name), Some(body), MethodDefinitionKind::Method) =
                (name, &method.value.body, method.kind)
            {
                let closure = Closure {
                    parameters: Some(&method.value.params),
                    body: ClosureBody::Block(body),
                    scope,
                    module,
                    class: None,
                };
                Self::set_field(object, &name, Value::Function(Rc::new(closure)));
            }
        }
    }

    /// Calls a method.
    pub(super) fn call_method(
        &mut self,
        object: &Value<'a>,
        name: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        match object {
            Value::Native(path) if name == "call" || name == "apply" || &**path == "Date()" => {
                self.native_method(&Rc::clone(path), name, arguments, at)
            }
            Value::Native(path) => self.call_native(&format!("{path}.{name}"), arguments, at),
            Value::Object(_) => match object.field(name) {
                Some(function) => self.call(&function, arguments, Some(object.clone()), at),
                None => self.object_method(object, name, arguments, at),
            },
            Value::List(list) => self.list_method(&Rc::clone(list), name, arguments, at),
            Value::Text(_)
            | Value::Variable(..)
            | Value::File(_)
            | Value::Row(_)
            | Value::Url(_) => self.text_method(object, name, arguments, at),
            Value::Number(number) => self.number_method(*number, name, arguments, at),
            Value::Counter(_) | Value::Random(_) | Value::Bool(_) => {
                if matches!(name, "toString" | "toFixed" | "valueOf") {
                    return object.clone();
                }
                if matches!(name, "padStart" | "padEnd") {
                    let text = Value::Text(Rc::new(self.text_of(object, at)));
                    return self.text_method(&text, name, arguments, at);
                }
                Value::unknown(format!(
                    "`{name}` of a number that is known only at run time"
                ))
            }
            Value::Answer(request, what) => {
                self.method_of_answer(*request, &Rc::clone(what), name, arguments, at)
            }
            Value::Regex(regex) => self.regex_method(&Rc::clone(regex), name, arguments),
            Value::Socket(socket) => self.socket_method(*socket, name, arguments, at),
            Value::Function(closure) if matches!(name, "call" | "apply") => {
                let (this, rest) = arguments.split_first().unwrap_or((&Value::Undefined, &[]));
                let rest = if name == "apply" {
                    rest.first().map(Value::items).unwrap_or_default()
                } else {
                    rest.to_vec()
                };
                self.invoke(&Rc::clone(closure), &rest, Some(this.clone()), at)
            }
            Value::Unknown(why) => {
                let why = why.to_string();
                self.run_callbacks(arguments, at);
                Value::Unknown(Rc::from(why.as_str()))
            }
            Value::Undefined | Value::Null => Value::Undefined,
            _ => Value::unknown(format!("`{name}` of a value that has no such method")),
        }
    }

    /// Functions given to a call that is not known: their steps would be lost.
    pub(super) fn run_callbacks(&mut self, arguments: &[Value<'a>], at: u32) {
        for argument in arguments {
            if let Value::Function(closure) = argument {
                self.lose(
                    at,
                    "the steps of a function",
                    "it is given to a call that is known only at run time, so they are taken once",
                    "write a `repeat` or an `if` around these steps",
                );
                let unknown = Value::unknown("an argument that is known only at run time");
                self.invoke(&Rc::clone(closure), &[unknown.clone(), unknown], None, at);
            }
        }
    }

    fn native_method(
        &mut self,
        path: &str,
        name: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        if path == "Date()" {
            return match name {
                "getTime" | "valueOf" => Value::hole(Hole::volatile("now_ms()").number()),
                _ => {
                    self.lose(
                        at,
                        format!("Date.{name}()"),
                        "a plan has the time as seconds or milliseconds only",
                        "use `{{ now() }}` or `{{ now_ms() }}`, or write a fixed date",
                    );
                    Value::hole(Hole::volatile("now()"))
                }
            };
        }
        let rest = arguments.get(1..).unwrap_or_default();
        self.call_native(path, rest, at)
    }

    fn object_method(
        &mut self,
        object: &Value<'a>,
        name: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        match name {
            _ if Self::is_address(object) => self.address_method(object, name, arguments, at),
            "hasOwnProperty" => {
                let key = arguments.first().and_then(|key| self.known_text(key));
                Value::Bool(key.is_some_and(|key| object.field(&key).is_some()))
            }
            "toString" => Value::text("[object Object]"),
            _ => Value::unknown(format!("`{name}` of an object that has no such method")),
        }
    }
}
