//! Shapes whose parts stand in fields of the grammars.

use tree_sitter::Node as Raw;

use super::{
    Id, Kind,
    lower::{Lower, field, fields, operator},
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
            Shape::Marked => return self.marked(raw),
            Shape::Is(_) | Shape::Through | Shape::Text => return Vec::new(),
        }]
    }

    fn call(&mut self, raw: Raw<'_>) -> Id {
        let receiver = field(raw, &["receiver", "object"]);
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
            _ => match field(raw, &["function", "constructor", "type"]) {
                Some(function) => self.one(function),
                None => self.new_node(Kind::Other, raw, 0..0),
            },
        };
        let mut kids = vec![callee];
        if let Some(arguments) = field(raw, &["arguments"]) {
            match arguments.kind() {
                "arguments" | "argument_list" | "annotation_argument_list" => kids.extend(self.list(arguments)),
                _ => kids.push(self.one(arguments)),
            }
        }
        // A block that is given along, or the body of an anonymous class.
        let block = field(raw, &["block"]).or_else(|| {
            let mut cursor = raw.walk();
            raw.named_children(&mut cursor).find(|c| c.kind() == "class_body")
        });
        kids.extend(self.opt(block));
        self.node(Kind::Call, raw, 0..0, kids)
    }

    fn member(&mut self, raw: Raw<'_>) -> Id {
        let object = field(
            raw,
            &["object", "value", "operand", "scope", "path", "package", "module"],
        );
        let name = field(raw, &["property", "attribute", "field", "name"]);
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
        let decorators = fields(raw, "decorator");
        for decorator in decorators {
            kids.extend(self.lower(decorator));
        }
        kids.extend(self.opt(field(raw, &["parameters"])));
        kids.extend(self.opt(field(raw, &["body"])));
        let name = field(raw, &["name"]).map_or(0..0, |n| n.byte_range());
        self.node(Kind::Function, raw, name, kids)
    }

    /// Annotations among the modifiers of a declaration.
    fn modifiers(&mut self, raw: Raw<'_>) -> Vec<Id> {
        let mut cursor = raw.walk();
        let found = raw.named_children(&mut cursor).find(|c| c.kind() == "modifiers");
        found.map(|m| self.list(m)).unwrap_or_default()
    }

    fn class(&mut self, raw: Raw<'_>) -> Id {
        let mut kids = self.modifiers(raw);
        for decorator in fields(raw, "decorator") {
            kids.extend(self.lower(decorator));
        }
        let heritage = |c: &Raw<'_>| matches!(c.kind(), "class_heritage");
        let mut cursor = raw.walk();
        let supers = field(raw, &["superclass", "superclasses", "trait"])
            .or_else(|| raw.named_children(&mut cursor).find(heritage));
        if let Some(supers) = supers {
            let names = self.lower(supers);
            kids.push(self.node(Kind::Types, supers, 0..0, names));
        }
        if let Some(body) = field(raw, &["body"]) {
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
        match field(raw, &["body"]) {
            Some(body) => kids.push(self.one(body)),
            None => kids.push(self.new_node(Kind::Block, raw, 0..0)),
        }
        self.node(Kind::Lambda, raw, 0..0, kids)
    }

    fn branch(&mut self, raw: Raw<'_>, turned: bool) -> Id {
        let mut kids = Vec::new();
        if let Some(init) = field(raw, &["initializer"]) {
            let ids = self.lower(init);
            kids.push(self.node(Kind::Init, init, 0..0, ids));
        }
        let parts = if raw.kind() == "conditional_expression" {
            // Python's `a if b else c` has no fields.
            let child = |n| raw.named_child(n);
            (child(1), child(0), child(2))
        } else {
            (
                field(raw, &["condition"]),
                field(raw, &["consequence", "body"]),
                field(raw, &["alternative"]),
            )
        };
        let condition = match parts.0 {
            Some(c) => self.one(c),
            None => self.new_node(Kind::Other, raw, 0..0),
        };
        kids.push(if turned {
            self.wrap(Kind::Not, vec![condition])
        } else {
            condition
        });
        kids.push(match parts.1 {
            Some(c) => self.one(c),
            None => self.new_node(Kind::Block, raw, 0..0),
        });
        let mut others = fields(raw, "alternative");
        if others.is_empty() {
            others.extend(parts.2);
        }
        for other in others {
            let id = self.one(other);
            let wrapped = self.ast.kind(id) == Kind::Else;
            kids.push(if wrapped { id } else { self.wrap(Kind::Else, vec![id]) });
        }
        self.node(Kind::If, raw, 0..0, kids)
    }

    fn loop_(&mut self, raw: Raw<'_>) -> Id {
        let mut cursor = raw.walk();
        let clause = raw
            .named_children(&mut cursor)
            .find(|c| matches!(c.kind(), "range_clause" | "for_clause"));
        let from = clause.unwrap_or(raw);
        let target = field(from, &["left", "pattern", "name", "initializer", "init"]);
        let bound: Vec<Id> = target.map(|t| self.lower(t)).unwrap_or_default();
        let bound = self.wrap(Kind::Bind, bound);
        let source = field(from, &["right", "value", "condition"]);
        let source = match source {
            Some(s) => self.one(s),
            None => self.new_node(Kind::Other, raw, 0..0),
        };
        let body = match field(raw, &["body"]) {
            Some(b) => self.one(b),
            None => self.new_node(Kind::Block, raw, 0..0),
        };
        self.node(Kind::Loop, raw, 0..0, vec![bound, source, body])
    }

    fn switch(&mut self, raw: Raw<'_>) -> Id {
        let value = field(raw, &["value", "condition", "subject"]);
        let mut kids = vec![match value {
            Some(v) => self.one(v),
            None => self.new_node(Kind::Other, raw, 0..0),
        }];
        let holder = field(raw, &["body"]).unwrap_or(raw);
        let all = self.list(holder);
        kids.extend(all.into_iter().filter(|id| {
            let kind = self.ast.kind(*id);
            matches!(kind, Kind::Arm | Kind::Else)
        }));
        self.node(Kind::Switch, raw, 0..0, kids)
    }

    /// All but the last part are patterns; the body is one block.
    fn arm(&mut self, raw: Raw<'_>) -> Id {
        let mut patterns = Vec::new();
        let mut body = Vec::new();
        let labels = ["switch_label", "match_pattern", "case_pattern", "pattern"];
        let mut cursor = raw.walk();
        for (at, child) in raw.children(&mut cursor).enumerate() {
            if !child.is_named() {
                continue;
            }
            let name = u32::try_from(at).ok().and_then(|at| raw.field_name_for_child(at));
            let label = labels.contains(&child.kind())
                || matches!(name, Some("pattern" | "type" | "communication"))
                || (name == Some("value") && raw.kind() != "match_arm");
            let ids = self.lower(child);
            if label { patterns.extend(ids) } else { body.extend(ids) }
        }
        let single = matches!(body.as_slice(), [only] if self.ast.kind(*only) == Kind::Block);
        let body = match body.first() {
            Some(only) if single => *only,
            Some(_) => self.wrap(Kind::Block, body),
            None => self.new_node(Kind::Block, raw, 0..0),
        };
        patterns.push(body);
        self.node(Kind::Arm, raw, 0..0, patterns)
    }

    fn attempt(&mut self, raw: Raw<'_>) -> Id {
        let mut kids: Vec<Id> = self.opt(field(raw, &["body"])).into_iter().collect();
        if let Some(handler) = field(raw, &["handler"]) {
            let id = self.one(handler);
            let caught = self.ast.kind(id) == Kind::Catch;
            kids.push(if caught { id } else { self.wrap(Kind::Catch, vec![id]) });
            kids.extend(self.opt(field(raw, &["finalizer"])));
        } else {
            let mut cursor = raw.walk();
            let rest: Vec<Raw<'_>> = raw
                .named_children(&mut cursor)
                .filter(|c| c.kind().contains("clause"))
                .collect();
            kids.extend(self.each(&rest));
        }
        self.node(Kind::Try, raw, 0..0, kids)
    }

    /// Ruby's bodies, which may carry handlers.
    fn rescued(&mut self, raw: Raw<'_>) -> Vec<Id> {
        let all = self.list(raw);
        let is_handler = |id: &Id| matches!(self.ast.kind(*id), Kind::Catch | Kind::Finally);
        if !all.iter().any(is_handler) {
            return vec![self.node(Kind::Block, raw, 0..0, all)];
        }
        let (handlers, body): (Vec<Id>, Vec<Id>) = all.into_iter().partition(is_handler);
        let body = self.wrap(Kind::Block, body);
        let kids = std::iter::once(body).chain(handlers).collect();
        let attempt = self.node(Kind::Try, raw, 0..0, kids);
        vec![self.node(Kind::Block, raw, 0..0, vec![attempt])]
    }

    fn catch(&mut self, raw: Raw<'_>) -> Id {
        let mut kids = Vec::new();
        let mut cursor = raw.walk();
        let parts: Vec<Raw<'_>> = raw.named_children(&mut cursor).collect();
        let body = field(raw, &["body"]).or_else(|| parts.iter().copied().find(|p| p.kind() == "block"));
        // Java has the types and the name of what is caught in one part.
        let caught: Vec<Raw<'_>> = parts
            .into_iter()
            .filter(|p| Some(*p) != body && p.kind() != "exception_variable")
            .filter(|p| field(raw, &["parameter"]) != Some(*p) && !p.is_extra())
            .filter_map(|p| match p.kind() {
                "catch_formal_parameter" => p.named_child(0),
                _ => Some(p),
            })
            .collect();
        if !caught.is_empty() {
            let ids = self.each(&caught);
            kids.push(self.wrap(Kind::Types, ids));
        }
        match body {
            Some(body) => kids.push(self.one(body)),
            None => kids.push(self.new_node(Kind::Block, raw, 0..0)),
        }
        self.node(Kind::Catch, raw, 0..0, kids)
    }

    fn with(&mut self, raw: Raw<'_>) -> Id {
        let mut cursor = raw.walk();
        let clause: Vec<Raw<'_>> = raw
            .named_children(&mut cursor)
            .filter(|c| field(raw, &["body"]) != Some(*c))
            .collect();
        let mut kids = self.each(&clause);
        kids.extend(self.opt(field(raw, &["body"])));
        self.node(Kind::With, raw, 0..0, kids)
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
        let target = field(raw, &["left", "name", "pattern", "argument"]).or_else(|| raw.named_child(0));
        let value = field(raw, &["right", "value"]).filter(|v| Some(*v) != target);
        let mut kids: Vec<Id> = self.opt(target).into_iter().collect();
        kids.extend(self.opt(value));
        // `let … else`
        if let Some(other) = field(raw, &["alternative"]) {
            let id = self.one(other);
            kids.push(self.wrap(Kind::Else, vec![id]));
        }
        let word = match raw.kind() {
            "update_expression" | "inc_statement" | "dec_statement" => {
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
        let kids = [field(raw, &["left"]), field(raw, &["right"])];
        let kids = kids.into_iter().flatten().map(|k| self.one(k)).collect();
        let word = field(raw, &["operator"])
            .or_else(|| raw.child(1))
            .map_or(0..0, |op| op.byte_range());
        self.node(Kind::Binary, raw, word, kids)
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
            (first, _) => first.map_or(0..0, |f| f.byte_range()),
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
        let (marks, rest): (Vec<Raw<'_>>, Vec<Raw<'_>>) = raw
            .named_children(&mut cursor)
            .partition(|c| c.kind() == "decorator");
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
