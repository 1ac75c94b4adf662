//! Shapes whose parts stand in fields of the grammars.

use tree_sitter::Node as Raw;

use super::{
    Grammar, Id, Kind,
    lower::{Lower, child, field, fields, operator},
    table::Shape,
};

impl Lower<'_> {
    pub(super) fn special(&mut self, shape: Shape, raw: Raw<'_>) -> Vec<Id> {
        vec![match shape {
            Shape::Call => self.call(raw),
            Shape::Member => self.member(raw),
            Shape::Function => self.function(raw),
            Shape::Class => self.class(raw),
            Shape::Lambda => self.lambda(raw),
            Shape::If => self.branch(raw, false),
            Shape::Unless => self.branch(raw, true),
            Shape::Loop => self.loop_(raw),
            Shape::Switch => self.switch(raw),
            Shape::Arm => self.arm(raw),
            Shape::Try => self.attempt(raw),
            Shape::Rescued => return self.rescued(raw),
            Shape::Catch => self.catch(raw),
            Shape::With => self.with(raw),
            Shape::Pair => self.pair(raw),
            Shape::Assign => self.assign(raw),
            Shape::Alias => self.alias(raw),
            Shape::Binary => self.binary(raw),
            Shape::Comparison => self.comparison(raw),
            Shape::Unary => self.unary(raw),
            Shape::Argument => return self.argument(raw),
            Shape::Infix => self.infix(raw),
            Shape::Marked => return self.marked(raw),
            Shape::Is(_) | Shape::Through | Shape::Text => return Vec::new(),
        }]
    }

    fn call(&mut self, raw: Raw<'_>) -> Id {
        let receiver = field(raw, &["receiver", "object", "scope"]);
        let method = field(raw, &["method", "name"]);
        let callee = match (receiver, method) {
            (Some(receiver), Some(method)) => {
                let object = self.one(receiver);
                let span = receiver.start_byte()..method.end_byte();
                let row = receiver.start_position().row;
                let id = self.spanning(Kind::Member, span, row, method.byte_range());
                self.set_kids(id, vec![object]);
                id
            }
            (None, Some(method)) => self.one(method),
            _ => match field(raw, &["function", "constructor", "type"]).or_else(|| raw.named_child(0)) {
                Some(function) => self.one(function),
                None => self.new_node(Kind::Other, raw, 0..0),
            },
        };
        let mut kids = vec![callee];
        kids.extend(self.type_arguments(raw));
        let mut cursor = raw.walk();
        let named: Vec<Raw<'_>> = raw.named_children(&mut cursor).collect();
        let of = |kinds: &[&str]| named.iter().copied().find(|c| kinds.contains(&c.kind()));
        if let Some(arguments) = field(raw, &["arguments"]).or_else(|| of(&["value_arguments", "arguments"])) {
            match arguments.kind() {
                "arguments" | "argument_list" | "annotation_argument_list" | "value_arguments" => {
                    kids.extend(self.list(arguments));
                }
                _ => kids.push(self.one(arguments)),
            }
        }
        // A block that is given along, an initialiser, or the body of an anonymous class.
        let block = field(raw, &["block", "initializer"]).or_else(|| of(&["class_body", "annotated_lambda"]));
        kids.extend(self.opt(block));
        self.node(Kind::Call, raw, 0..0, kids)
    }

    /// `Assert.Throws<E>(…)`: the type says what is wanted.
    fn type_arguments(&mut self, raw: Raw<'_>) -> Vec<Id> {
        let name = field(raw, &["function"]).and_then(|f| field(f, &["name"]).or(Some(f)));
        let mut cursor = raw.walk();
        let list = name
            .filter(|n| n.kind() == "generic_name")
            .and_then(|n| n.named_child(1))
            .or_else(|| {
                raw.named_children(&mut cursor)
                    .find(|c| c.kind() == "type_arguments" && self.ast.grammar == Grammar::Kotlin)
            });
        let Some(list) = list else { return Vec::new() };
        self.list(list)
            .into_iter()
            .filter(|id| self.ast.kind(*id) == Kind::Name)
            .collect()
    }

    /// A value, or a name with its value.
    fn argument(&mut self, raw: Raw<'_>) -> Vec<Id> {
        let kids = self.list(raw);
        let mut cursor = raw.walk();
        let named = raw.children(&mut cursor).any(|c| matches!(c.kind(), "=" | ":" | "=>"));
        match kids.as_slice() {
            [key, _] if named => {
                let word = self.ast.node(*key).start..self.ast.node(*key).end;
                vec![self.node(Kind::Pair, raw, word, kids)]
            }
            _ => kids,
        }
    }

    /// `a shouldBe b` is a call, `a to b` an entry.
    fn infix(&mut self, raw: Raw<'_>) -> Id {
        let mut cursor = raw.walk();
        let parts: Vec<Raw<'_>> = raw.named_children(&mut cursor).collect();
        let [left, name, right] = parts.as_slice() else {
            let kids = self.each(&parts);
            return self.node(Kind::Other, raw, 0..0, kids);
        };
        let (object, value) = (self.one(*left), self.one(*right));
        if &self.ast.text[name.byte_range()] == "to" {
            let word = left.byte_range();
            return self.node(Kind::Pair, raw, word, vec![object, value]);
        }
        let span = left.start_byte()..name.end_byte();
        let member = self.spanning(Kind::Member, span, left.start_position().row, name.byte_range());
        self.set_kids(member, vec![object]);
        self.node(Kind::Call, raw, 0..0, vec![member, value])
    }

    fn member(&mut self, raw: Raw<'_>) -> Id {
        let object = field(
            raw,
            &[
                "object",
                "value",
                "operand",
                "scope",
                "path",
                "package",
                "module",
                "expression",
                "condition",
                "qualifier",
            ],
        );
        // `X::class` is the class itself.
        if self.ast.text[raw.byte_range()].ends_with("::class")
            && let Some(class) = raw.named_child(0)
        {
            return self.one(class);
        }
        let bound = raw.named_child(1).filter(|c| c.kind() == "member_binding_expression");
        let name =
            field(raw, &["property", "attribute", "field", "name"]).or_else(|| bound.and_then(|b| field(b, &["name"])));
        let name = name.map(|n| {
            if n.kind() == "generic_name" {
                n.named_child(0).unwrap_or(n)
            } else {
                n
            }
        });
        let first = raw.named_child(0);
        let last = u32::try_from(raw.named_child_count())
            .ok()
            .and_then(|n| raw.named_child(n.saturating_sub(1)));
        let word = name.or(last).map_or(0..0, |n| n.byte_range());
        let object = object.or(first.filter(|f| name != Some(*f) && f.byte_range() != word));
        let kids = self.opt(object).into_iter().collect();
        self.node(Kind::Member, raw, word, kids)
    }

    fn function(&mut self, raw: Raw<'_>) -> Id {
        let mut kids = self.modifiers(raw);
        kids.extend(self.opt(field(raw, &["parameters"]).or_else(|| child(raw, &["function_value_parameters"]))));
        kids.extend(self.opt(field(raw, &["body"]).or_else(|| child(raw, &["function_body"]))));
        let name = field(raw, &["name"]).map_or(0..0, |n| n.byte_range());
        self.node(Kind::Function, raw, name, kids)
    }

    /// Annotations among the modifiers of a declaration.
    fn modifiers(&mut self, raw: Raw<'_>) -> Vec<Id> {
        let mut cursor = raw.walk();
        let kinds = ["modifiers", "attribute_list", "decorator"];
        let found: Vec<Raw<'_>> = raw
            .named_children(&mut cursor)
            .filter(|c| kinds.contains(&c.kind()))
            .collect();
        let ids: Vec<Id> = found.into_iter().flat_map(|m| self.lower_marks(m)).collect();
        ids.into_iter().filter(|id| self.ast.kind(*id) == Kind::Mark).collect()
    }

    fn lower_marks(&mut self, raw: Raw<'_>) -> Vec<Id> {
        if raw.kind() == "modifiers" {
            self.list(raw)
        } else {
            self.lower(raw)
        }
    }

    fn class(&mut self, raw: Raw<'_>) -> Id {
        let mut kids = self.modifiers(raw);
        let supers = field(raw, &["superclass", "superclasses", "trait"]).or_else(|| {
            child(
                raw,
                &["class_heritage", "base_list", "base_clause", "delegation_specifiers"],
            )
        });
        if let Some(supers) = supers {
            let names = self.lower(supers);
            kids.push(self.node(Kind::Types, supers, 0..0, names));
        }
        if let Some(body) = field(raw, &["body"]).or_else(|| child(raw, &["class_body", "enum_class_body"])) {
            kids.push(self.one(body));
        } else if let Some(value) = raw.child_by_field_name("type").filter(|_| raw.kind() == "type_spec") {
            kids.extend(self.lower(value));
        }
        let name = field(raw, &["name", "type"]).map_or(0..0, |n| n.byte_range());
        self.node(Kind::Class, raw, name, kids)
    }

    fn lambda(&mut self, raw: Raw<'_>) -> Id {
        let mut kids = Vec::new();
        if let Some(parameters) = field(raw, &["parameters", "parameter"]) {
            let id = self.one(parameters);
            let bare = self.ast.kind(id) != Kind::Params;
            kids.push(if bare { self.wrap(Kind::Params, vec![id]) } else { id });
        }
        if let Some(body) = field(raw, &["body"]) {
            kids.push(self.one(body));
        } else {
            // Kotlin: parameters and statements side by side.
            let all = self.list(raw);
            let (params, body): (Vec<Id>, Vec<Id>) = all.into_iter().partition(|id| self.ast.kind(*id) == Kind::Params);
            kids.extend(params);
            kids.push(self.node(Kind::Block, raw, 0..0, body));
        }
        self.node(Kind::Lambda, raw, 0..0, kids)
    }

    fn pair(&mut self, raw: Raw<'_>) -> Id {
        let key = field(raw, &["key", "name", "field"]);
        let value = field(raw, &["value"]);
        let mut kids: Vec<Id> = self.opt(key).into_iter().collect();
        kids.extend(self.opt(value));
        let word = key.map_or(0..0, |k| k.byte_range());
        self.node(Kind::Pair, raw, word, kids)
    }

    fn assign(&mut self, raw: Raw<'_>) -> Id {
        let bound = child(raw, &["variable_declaration", "multi_variable_declaration"]);
        let target = field(raw, &["left", "name", "pattern", "argument"])
            .or(bound)
            .or_else(|| raw.named_child(0));
        let bare = matches!(
            raw.kind(),
            "variable_declarator" | "property_declaration" | "const_element" | "property_element"
        );
        let last = u32::try_from(raw.named_child_count())
            .ok()
            .and_then(|n| raw.named_child(n.saturating_sub(1)));
        let value = field(raw, &["right", "value", "default_value"])
            .or(last.filter(|_| bare))
            .filter(|v| Some(*v) != target);
        let mut kids: Vec<Id> = self.opt(target).into_iter().collect();
        kids.extend(self.opt(value));
        // `let … else`
        if let Some(other) = field(raw, &["alternative"]) {
            let id = self.one(other);
            kids.push(self.wrap(Kind::Else, vec![id]));
        }
        let word = match raw.kind() {
            "update_expression" | "inc_statement" | "dec_statement" | "postfix_unary_expression" => {
                let mut cursor = raw.walk();
                let mark = raw.children(&mut cursor).find(|c| !c.is_named());
                mark.map_or(0..0, |m| m.byte_range())
            }
            _ => operator(raw),
        };
        self.node(Kind::Assign, raw, word, kids)
    }

    fn alias(&mut self, raw: Raw<'_>) -> Id {
        let alias = field(raw, &["alias"]);
        let value = raw.named_child(0).filter(|v| Some(*v) != alias);
        let kids = [alias, value].into_iter().flatten().map(|k| self.one(k)).collect();
        self.node(Kind::Assign, raw, 0..0, kids)
    }

    fn binary(&mut self, raw: Raw<'_>) -> Id {
        let kids = [field(raw, &["left", "expression"]), field(raw, &["right", "pattern"])];
        let kids: Vec<Id> = kids.into_iter().flatten().map(|k| self.one(k)).collect();
        if let Some(call) = self.generic_call(raw, &kids) {
            return call;
        }
        let word = field(raw, &["operator"])
            .or_else(|| raw.child(1))
            .map_or(0..0, |op| op.byte_range());
        self.node(Kind::Binary, raw, word, kids)
    }

    /// Kotlin's `f<T> { … }`, which its grammar takes for two comparisons.
    fn generic_call(&mut self, raw: Raw<'_>, kids: &[Id]) -> Option<Id> {
        let [left, right] = kids else { return None };
        let lambda = self.ast.kind(*right) == Kind::Lambda && self.ast.grammar == Grammar::Kotlin;
        let inner = self.ast.kids(*left).to_vec();
        if !lambda || self.ast.kind(*left) != Kind::Binary || inner.len() != 2 {
            return None;
        }
        let kids = inner.into_iter().chain([*right]).collect();
        Some(self.node(Kind::Call, raw, 0..0, kids))
    }

    /// Python's chains of comparisons, each between its neighbours.
    fn comparison(&mut self, raw: Raw<'_>) -> Id {
        let mut cursor = raw.walk();
        let operands: Vec<Raw<'_>> = raw
            .children(&mut cursor)
            .enumerate()
            .filter(|(at, c)| {
                let at = u32::try_from(*at).unwrap_or(u32::MAX);
                c.is_named() && raw.field_name_for_child(at) != Some("operators")
            })
            .map(|(_, c)| c)
            .collect();
        let kids = operands.into_iter().map(|o| self.one(o)).collect();
        let operators = fields(raw, "operators");
        let word = match (operators.first(), operators.last()) {
            // `not in` and `is not` are one word of two.
            (Some(first), Some(last)) if operators.len() == 1 || first.start_byte() == last.start_byte() => {
                first.byte_range()
            }
            (Some(first), Some(second)) if operators.len() == 2 && raw.named_child_count() == 2 => {
                first.start_byte()..second.end_byte()
            }
            (first, _) => first.map_or(0..0, Raw::byte_range),
        };
        self.node(Kind::Binary, raw, word, kids)
    }

    fn unary(&mut self, raw: Raw<'_>) -> Id {
        let operator = field(raw, &["operator"]).or_else(|| raw.child(0).filter(|c| !c.is_named()));
        let word = operator.map_or(0..0, |op| op.byte_range());
        let text = &self.ast.text[word.clone()];
        let kids = self.list(raw);
        match (text, kids.as_slice()) {
            ("!" | "not", _) => self.node(Kind::Not, raw, word, kids),
            ("-" | "+", [only]) if self.ast.kind(*only) == Kind::Number => {
                self.node(Kind::Number, raw, word, Vec::new())
            }
            ("*" | "&" | "<-" | "+", [only]) => *only,
            _ => self.node(Kind::Other, raw, word, kids),
        }
    }

    /// Decorators and `export` before a declaration.
    fn marked(&mut self, raw: Raw<'_>) -> Vec<Id> {
        let mut cursor = raw.walk();
        let (marks, rest): (Vec<Raw<'_>>, Vec<Raw<'_>>) =
            raw.named_children(&mut cursor).partition(|c| c.kind() == "decorator");
        if raw.child_by_field_name("source").is_some() {
            let kids = self.each(&rest);
            return vec![self.node(Kind::Import, raw, 0..0, kids)];
        }
        let marks: Vec<Id> = marks.into_iter().flat_map(|m| self.lower(m)).collect();
        let ids = self.each(&rest);
        if let (Some(first), false) = (ids.first(), marks.is_empty()) {
            self.mark(*first, marks);
        }
        ids
    }
}
