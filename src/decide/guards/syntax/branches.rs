//! Branches, loops, handlers: statements whose parts the grammars put into fields, or only into an order.

use tree_sitter::Node as Raw;

use super::{
    Id, Kind,
    lower::{Lower, child, field, fields},
};

impl Lower<'_> {
    pub(super) fn branch(&mut self, raw: Raw<'_>, turned: bool) -> Id {
        let mut kids = Vec::new();
        if let Some(init) = field(raw, &["initializer"]) {
            let ids = self.lower(init);
            kids.push(self.node(Kind::Init, init, 0..0, ids));
        }
        let mut cursor = raw.walk();
        let given = field(raw, &["condition"]);
        let rest: Vec<Raw<'_>> = raw
            .named_children(&mut cursor)
            .filter(|c| Some(*c) != given && !c.is_extra())
            .collect();
        let parts = if given.is_some() && field(raw, &["consequence", "body"]).is_none() {
            // Kotlin names the condition only.
            (given, rest.first().copied(), rest.get(1).copied())
        } else if raw.kind() == "conditional_expression" && given.is_none() {
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

    pub(super) fn loop_(&mut self, raw: Raw<'_>) -> Id {
        let mut cursor = raw.walk();
        let clause = raw
            .named_children(&mut cursor)
            .find(|c| matches!(c.kind(), "range_clause" | "for_clause"));
        let from = clause.unwrap_or(raw);
        if field(from, &["right", "value", "condition"]).is_none() && field(from, &["left", "pattern"]).is_none() {
            return self.bare_loop(raw);
        }
        let target = field(from, &["left", "pattern", "name", "initializer", "init", "initialize"]);
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

    /// Loops whose parts have no names: PHP says what it runs through first, Kotlin says it second.
    pub(super) fn bare_loop(&mut self, raw: Raw<'_>) -> Id {
        let mut cursor = raw.walk();
        let parts: Vec<Raw<'_>> = raw.named_children(&mut cursor).filter(|c| !c.is_extra()).collect();
        let (source, bound, body) = match (raw.kind(), parts.as_slice()) {
            ("foreach_statement", [source, bound, body, ..]) | ("for_statement", [bound, source, body, ..]) => {
                (Some(*source), Some(*bound), Some(*body))
            }
            (_, [.., body]) => (None, None, Some(*body)),
            (_, []) => (None, None, None),
        };
        let names: Vec<Id> = bound.map(|b| self.lower(b)).unwrap_or_default();
        let names = self.wrap(Kind::Bind, names);
        let mut kids = vec![names];
        for part in [source, body] {
            kids.push(match part {
                Some(part) => self.one(part),
                None => self.new_node(Kind::Block, raw, 0..0),
            });
        }
        self.node(Kind::Loop, raw, 0..0, kids)
    }

    pub(super) fn switch(&mut self, raw: Raw<'_>) -> Id {
        let first = raw
            .named_child(0)
            .filter(|_| matches!(raw.kind(), "switch_expression" | "when_expression"));
        let value = field(raw, &["value", "condition", "subject"]).or(first);
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
    pub(super) fn arm(&mut self, raw: Raw<'_>) -> Id {
        let mut patterns = Vec::new();
        let mut body = Vec::new();
        let mut cursor = raw.walk();
        let children: Vec<Raw<'_>> = raw.children(&mut cursor).collect();
        let mark = children.iter().position(|c| matches!(c.kind(), ":" | "=>" | "->"));
        for (at, child) in children.into_iter().enumerate().filter(|(_, c)| c.is_named()) {
            // Ruby writes no mark between the two.
            let label = mark.map_or(child.kind() == "pattern", |mark| at < mark);
            let ids = self.lower(child);
            if label {
                patterns.extend(ids);
            } else {
                body.extend(ids);
            }
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

    pub(super) fn attempt(&mut self, raw: Raw<'_>) -> Id {
        let body = field(raw, &["body"]).or_else(|| child(raw, &["block"]));
        let mut kids: Vec<Id> = self.opt(body).into_iter().collect();
        if let Some(handler) = field(raw, &["handler"]) {
            let id = self.one(handler);
            let caught = self.ast.kind(id) == Kind::Catch;
            kids.push(if caught { id } else { self.wrap(Kind::Catch, vec![id]) });
            kids.extend(self.opt(field(raw, &["finalizer"])));
        } else {
            let mut cursor = raw.walk();
            let rest: Vec<Raw<'_>> = raw
                .named_children(&mut cursor)
                .filter(|c| c.kind().contains("clause") || matches!(c.kind(), "catch_block" | "finally_block"))
                .collect();
            kids.extend(self.each(&rest));
        }
        self.node(Kind::Try, raw, 0..0, kids)
    }

    /// Ruby's bodies, which may carry handlers.
    pub(super) fn rescued(&mut self, raw: Raw<'_>) -> Vec<Id> {
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

    pub(super) fn catch(&mut self, raw: Raw<'_>) -> Id {
        let mut kids = Vec::new();
        let mut cursor = raw.walk();
        let parts: Vec<Raw<'_>> = raw.named_children(&mut cursor).collect();
        let body = field(raw, &["body"]).or_else(|| parts.iter().copied().find(|p| p.kind() == "block"));
        // Java has the types and the name of what is caught in one part.
        let filtered = parts.iter().any(|p| p.kind() == "catch_filter_clause");
        let caught: Vec<Raw<'_>> = parts
            .into_iter()
            .filter(|p| Some(*p) != body && p.kind() != "exception_variable")
            .filter(|p| field(raw, &["parameter"]) != Some(*p) && !p.is_extra())
            .filter_map(|p| match p.kind() {
                "catch_formal_parameter" => p.named_child(0),
                "catch_declaration" => field(p, &["type"]),
                "catch_filter_clause" | "variable_name" => None,
                _ => Some(p),
            })
            .filter(|p| raw.kind() != "catch_block" || p.kind() != "identifier")
            .collect();
        if filtered {
            // Only some errors of the class.
            let word = raw.start_byte()..raw.start_byte();
            let narrower = self.spanning(Kind::Name, word.clone(), raw.start_position().row, word);
            kids.push(self.wrap(Kind::Types, vec![narrower]));
        } else if !caught.is_empty() {
            let ids = self.each(&caught);
            kids.push(self.wrap(Kind::Types, ids));
        }
        match body {
            Some(body) => kids.push(self.one(body)),
            None => kids.push(self.new_node(Kind::Block, raw, 0..0)),
        }
        self.node(Kind::Catch, raw, 0..0, kids)
    }

    pub(super) fn with(&mut self, raw: Raw<'_>) -> Id {
        let mut cursor = raw.walk();
        let clause: Vec<Raw<'_>> = raw
            .named_children(&mut cursor)
            .filter(|c| field(raw, &["body"]) != Some(*c))
            .collect();
        let mut kids = self.each(&clause);
        kids.extend(self.opt(field(raw, &["body"])));
        self.node(Kind::With, raw, 0..0, kids)
    }
}
