//! `switch`: folded where its value is known, else a `choose` or `if` steps within each other.

use std::rc::Rc;

use oxc_ast::ast::SwitchStatement;

use super::comparison::{Operator, Test};
use super::machine::Machine;
use super::node::Node;
use super::statement::Flow;
use super::value::Value;

impl<'a> Machine<'a, '_> {
    pub(super) fn switch_statement(
        &mut self,
        switch: &'a SwitchStatement<'a>,
        scope: usize,
    ) -> Flow<'a> {
        let value = self.evaluate(&switch.discriminant, scope);
        let inner = self.scope(scope);
        if self.known_text(&value).is_some() || self.number(&value).is_some() {
            let mut is_met = false;
            for case in &switch.cases {
                let matches = match &case.test {
                    Some(test) => {
                        let test = self.evaluate(test, inner);
                        let equal = self.compare(Operator::Equal, &value, &test);
                        equal.truth() == Some(true)
                    }
                    None => true,
                };
                is_met |= matches;
                if is_met {
                    match self.statements(&case.consequent, inner, false) {
                        Flow::Next => {}
                        Flow::Break => return Flow::Next,
                        flow => return flow,
                    }
                }
            }
            return Flow::Next;
        }
        self.switch_at_run_time(switch, &value, inner);
        Flow::Next
    }

    /// A `switch` on a random number or a value of a response: a `choose`, or one `if` within the other.
    fn switch_at_run_time(
        &mut self,
        switch: &'a SwitchStatement<'a>,
        value: &Value<'a>,
        scope: usize,
    ) {
        if let Value::Unknown(why) = value {
            let why = why.to_string();
            self.lose(
                switch.span.start,
                "the steps of a `switch`",
                &why,
                "write them with `choose` or `if`",
            );
            return;
        }
        let mut cases = Vec::new();
        let mut default = Vec::new();
        for case in &switch.cases {
            let nodes = self.follow_case(&case.consequent, scope);
            match &case.test {
                Some(test) => {
                    let test = self.evaluate(test, scope);
                    cases.push((test, nodes));
                }
                None => default = nodes,
            }
        }
        if let Value::Random(random) = value
            && random.is_whole
            && !self.random_slots.contains_key(&random.id)
        {
            let all = random.high - random.low + 1.0;
            let left = all - super::number::of(cases.len());
            let mut branches: Vec<_> = cases.into_iter().map(|(_, nodes)| (1.0, nodes)).collect();
            if left > 0.0 {
                branches.push((left, default));
            }
            self.emit(Node::Choose(branches));
            return;
        }
        let mut nodes = default;
        for (test, then) in cases.into_iter().rev() {
            let test = Rc::new(Test::Compare(Operator::Equal, value.clone(), test));
            self.open();
            self.emit_branches(&test, then, nodes, switch.span.start);
            nodes = self.close();
        }
        self.emit_all(nodes);
    }
}
