//! Reads a text with its grammar and builds our tree of it.

use std::{ops::Range, sync::OnceLock};

use tree_sitter::{Language, Node as Raw, Parser};

use super::{
    Ast, Grammar, Id, Kind, Node, Token,
    table::{Shape, shape},
};

/// Nested deeper a text is not read.
const DEEPEST: usize = 400;
/// Larger texts are not read.
const LARGEST: usize = 1 << 20;

/// A grammar as tree-sitter knows it, with what each kind of its nodes becomes: asked by number, a kind is not spelled
/// out for every node.
struct Known {
    language: Language,
    shapes: Vec<Shape>,
}

impl Known {
    fn of(grammar: Grammar) -> &'static Self {
        static KNOWN: [OnceLock<Known>; 10] = [const { OnceLock::new() }; 10];
        let (at, language) = match grammar {
            Grammar::Script => (0, tree_sitter_typescript::LANGUAGE_TYPESCRIPT),
            Grammar::Tsx => (1, tree_sitter_typescript::LANGUAGE_TSX),
            Grammar::Python => (2, tree_sitter_python::LANGUAGE),
            Grammar::Rust => (3, tree_sitter_rust::LANGUAGE),
            Grammar::Go => (4, tree_sitter_go::LANGUAGE),
            Grammar::Java => (5, tree_sitter_java::LANGUAGE),
            Grammar::Ruby => (6, tree_sitter_ruby::LANGUAGE),
            Grammar::CSharp => (7, tree_sitter_c_sharp::LANGUAGE),
            Grammar::Php => (8, tree_sitter_php::LANGUAGE_PHP),
            Grammar::Kotlin => (9, tree_sitter_kotlin_ng::LANGUAGE),
        };
        KNOWN[at].get_or_init(|| {
            let language = Language::from(language);
            let kinds = 0..u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
            let name = |kind| language.node_kind_for_id(kind).unwrap_or_default();
            let shapes = kinds.map(|kind| shape(grammar, name(kind))).collect();
            Self { language, shapes }
        })
    }

    fn shape(&self, grammar: Grammar, node: Raw<'_>) -> Shape {
        let known = self.shapes.get(usize::from(node.kind_id())).copied();
        // What could not be read has a number far behind all others.
        known.unwrap_or_else(|| shape(grammar, node.kind()))
    }
}

/// The tree of a text; none of one that is too large or too deep.
pub(in crate::decide::guards) fn parse(text: &str, grammar: Grammar) -> Option<Ast<'_>> {
    if text.len() > LARGEST {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&Known::of(grammar).language).ok()?;
    let first = match imports_of_types(text, grammar) {
        Some(plain) => parser.parse(plain, None)?,
        None => parser.parse(text, None)?,
    };
    let broken = first.root_node().has_error();
    let tree = match macros(text, grammar, first.root_node()) {
        Some(plain) => parser.parse(plain, None)?,
        None => first,
    };
    let mut lower = Lower {
        ast: Ast {
            text,
            grammar,
            nodes: Vec::new(),
            tokens: leaves(tree.root_node(), grammar),
            comments: Vec::new(),
            broken,
        },
        depth: 0,
        deep: false,
    };
    let root = lower.new_node(Kind::Block, tree.root_node(), 0..0);
    let kids = lower.list(tree.root_node());
    lower.ast.nodes[root].kids = kids;
    lower.adopt(root);
    (!lower.deep).then_some(lower.ast)
}

/// `f<typeof import("./x")>(…)`: the grammar does not know the type, which says nothing of what runs.
fn imports_of_types(text: &str, grammar: Grammar) -> Option<Vec<u8>> {
    const OPENS: &str = "<typeof import(";
    if !grammar.is_script() || !text.contains(OPENS) {
        return None;
    }
    let mut plain = text.as_bytes().to_vec();
    for (at, _) in text.match_indices(OPENS) {
        let Some(end) = text[at..].find(")>") else { continue };
        plain[at..at + end + 2].fill(b' ');
    }
    Some(plain)
}

/// Calls of macros, which the grammar leaves unread, written as calls of functions with the same places.
fn macros(text: &str, grammar: Grammar, root: Raw<'_>) -> Option<Vec<u8>> {
    if grammar != Grammar::Rust || !text.contains('!') {
        return None;
    }
    let tokens = leaves(root, grammar);
    let mut plain = text.as_bytes().to_vec();
    let mut found = false;
    for three in tokens.windows(3) {
        let [name, mark, open] = three else { continue };
        let of = |t: &Token| &text[t.start..t.end];
        if name.kind != Kind::Name || of(mark) != "!" || name.end != mark.start {
            continue;
        }
        match of(open) {
            "(" => plain[mark.start] = b' ',
            "[" => plain[name.start..mark.end].fill(b' '),
            _ => continue,
        }
        found = true;
    }
    found.then_some(plain)
}

/// All leaves that are no comments, in order; a string is one leaf.
fn leaves(root: Raw<'_>, grammar: Grammar) -> Vec<Token> {
    let known = Known::of(grammar);
    let mut out = Vec::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let shape = known.shape(grammar, node);
        let whole = node.is_named() && shape == Shape::Text && node.kind() != "concatenated_string";
        let comment = node.is_extra() && node.kind().contains("comment");
        let leaf = node.child_count() == 0 || whole;
        if leaf && !comment && node.start_byte() < node.end_byte() {
            let kind = match shape {
                Shape::Text => Kind::Text,
                Shape::Is(kind @ (Kind::Name | Kind::Number | Kind::Constant)) if node.is_named() => kind,
                _ => Kind::Other,
            };
            out.push(Token {
                start: node.start_byte(),
                end: node.end_byte(),
                kind,
            });
        }
        if !leaf && !comment && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return out;
            }
        }
    }
}

pub(super) struct Lower<'a> {
    pub(super) ast: Ast<'a>,
    depth: usize,
    deep: bool,
}

/// The child of one of these fields.
pub(super) fn field<'t>(node: Raw<'t>, names: &[&str]) -> Option<Raw<'t>> {
    names.iter().find_map(|name| node.child_by_field_name(name))
}

/// The first named child of one of these kinds.
pub(super) fn child<'t>(node: Raw<'t>, kinds: &[&str]) -> Option<Raw<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|c| kinds.contains(&c.kind()))
}

pub(super) fn fields<'t>(node: Raw<'t>, name: &str) -> Vec<Raw<'t>> {
    node.children_by_field_name(name, &mut node.walk()).collect()
}

fn named(node: Raw<'_>) -> Vec<Raw<'_>> {
    node.named_children(&mut node.walk()).collect()
}

impl Lower<'_> {
    pub(super) fn new_node(&mut self, kind: Kind, raw: Raw<'_>, word: Range<usize>) -> Id {
        self.spanning(kind, raw.start_byte()..raw.end_byte(), raw.start_position().row, word)
    }

    pub(super) fn spanning(&mut self, kind: Kind, span: Range<usize>, row: usize, word: Range<usize>) -> Id {
        let tokens = &self.ast.tokens;
        let first = tokens.partition_point(|t| t.start < span.start);
        let last = tokens.partition_point(|t| t.start < span.end).max(first);
        self.ast.nodes.push(Node {
            kind,
            start: span.start,
            end: span.end,
            line: u32::try_from(row + 1).unwrap_or(u32::MAX),
            word,
            kids: Vec::new(),
            parent: 0,
            tokens: first..last,
        });
        self.ast.nodes.len() - 1
    }

    fn adopt(&mut self, id: Id) {
        for kid in self.ast.nodes[id].kids.clone() {
            self.ast.nodes[kid].parent = id;
        }
    }

    pub(super) fn node(&mut self, kind: Kind, raw: Raw<'_>, word: Range<usize>, kids: Vec<Id>) -> Id {
        let id = self.new_node(kind, raw, word);
        self.ast.nodes[id].kids = kids;
        self.adopt(id);
        id
    }

    /// A node around others that has no place of its own in the text.
    pub(super) fn wrap(&mut self, kind: Kind, kids: Vec<Id>) -> Id {
        let (first, last) = (kids.first().copied(), kids.last().copied());
        let start = first.map_or(0, |k| self.ast.nodes[k].start);
        let end = last.map_or(0, |k| self.ast.nodes[k].end);
        let row = first.map_or(0, |k| self.ast.nodes[k].line as usize - 1);
        let id = self.spanning(kind, start..end.max(start), row, 0..0);
        self.ast.nodes[id].kids = kids;
        self.adopt(id);
        id
    }

    pub(super) fn set_kids(&mut self, id: Id, kids: Vec<Id>) {
        self.ast.nodes[id].kids = kids;
        self.adopt(id);
    }

    /// The children of a list, each mark at what it marks.
    pub(super) fn list(&mut self, raw: Raw<'_>) -> Vec<Id> {
        let children = named(raw);
        self.each(&children)
    }

    pub(super) fn each(&mut self, children: &[Raw<'_>]) -> Vec<Id> {
        let mut out = Vec::new();
        let mut marks = Vec::new();
        for child in children {
            for id in self.lower(*child) {
                let marks_next =
                    self.ast.nodes[id].kind == Kind::Mark && matches!(child.kind(), "attribute_item" | "decorator");
                if marks_next {
                    marks.push(id);
                    continue;
                }
                if !marks.is_empty() {
                    self.mark(id, std::mem::take(&mut marks));
                }
                out.push(id);
            }
        }
        out.append(&mut marks);
        out
    }

    /// Puts marks before the other children.
    pub(super) fn mark(&mut self, id: Id, mut marks: Vec<Id>) {
        marks.append(&mut self.ast.nodes[id].kids);
        self.set_kids(id, marks);
    }

    /// What a node becomes: one node, or none or several where it only groups.
    pub(super) fn lower(&mut self, raw: Raw<'_>) -> Vec<Id> {
        if self.depth >= DEEPEST {
            self.deep = true;
            return Vec::new();
        }
        self.depth += 1;
        let out = self.lower_one(raw);
        self.depth -= 1;
        out
    }

    /// Exactly one node; several become a block.
    pub(super) fn one(&mut self, raw: Raw<'_>) -> Id {
        let ids = self.lower(raw);
        match ids.as_slice() {
            [id] => *id,
            _ => self.node(Kind::Block, raw, 0..0, ids),
        }
    }

    pub(super) fn opt(&mut self, raw: Option<Raw<'_>>) -> Option<Id> {
        raw.map(|raw| self.one(raw))
    }

    fn lower_one(&mut self, raw: Raw<'_>) -> Vec<Id> {
        if !raw.is_named() {
            return Vec::new();
        }
        let comment = raw.is_extra() && raw.kind().contains("comment") || raw.kind() == "preproc_pragma";
        if comment {
            let id = self.new_node(Kind::Comment, raw, 0..0);
            self.ast.comments.push(id);
            return Vec::new();
        }
        if raw.is_missing() {
            self.ast.broken = true;
        }
        vec![match Known::of(self.ast.grammar).shape(self.ast.grammar, raw) {
            Shape::Through => {
                let kids = match value_of_cast(raw) {
                    Some(value) => self.lower(value),
                    None => self.list(raw),
                };
                if kids.is_empty() && raw.child_count() == 0 {
                    return vec![self.new_node(Kind::Other, raw, 0..0)];
                }
                return kids;
            }
            Shape::Is(kind) => self.plain(kind, raw),
            Shape::Text => self.text(raw),
            special => return self.special(special, raw),
        }]
    }

    fn plain(&mut self, kind: Kind, raw: Raw<'_>) -> Id {
        let word = match kind {
            // The name without its type arguments.
            Kind::Name if raw.kind() == "generic_name" => raw.named_child(0).unwrap_or(raw).byte_range(),
            Kind::Name => raw.byte_range(),
            Kind::Loop | Kind::Assign | Kind::Not => operator(raw),
            _ => 0..0,
        };
        let constant = kind == Kind::Name
            && self.ast.grammar == Grammar::Kotlin
            && matches!(&self.ast.text[raw.byte_range()], "true" | "false" | "null");
        if constant {
            return self.new_node(Kind::Constant, raw, 0..0);
        }
        let mut kids = match kind {
            Kind::Name | Kind::Number | Kind::Constant => Vec::new(),
            _ => self.list(raw),
        };
        // Kotlin's grammar gives the parts of a path one by one: `@kotlin.test.Ignore`.
        let is_name = |k: &Id| self.ast.nodes[*k].kind == Kind::Name;
        if kind == Kind::Mark && self.ast.grammar == Grammar::Kotlin && kids.iter().all(is_name) {
            kids = kids.pop().into_iter().collect();
        }
        self.node(kind, raw, word, kids)
    }

    /// A string: one leaf, with what is put into it below it.
    fn text(&mut self, raw: Raw<'_>) -> Id {
        let mut kids = Vec::new();
        let mut open = named(raw);
        open.reverse();
        while let Some(part) = open.pop() {
            match part.kind() {
                "interpolation"
                | "template_substitution"
                | "variable_name"
                | "member_access_expression"
                | "subscript_expression" => kids.extend(self.lower(part)),
                _ if shape(self.ast.grammar, part.kind()) == Shape::Text => {
                    let mut inner = named(part);
                    inner.reverse();
                    open.extend(inner);
                }
                _ => {}
            }
        }
        self.node(Kind::Text, raw, 0..0, kids)
    }
}

/// What a cast is made of: the type says nothing of the value.
fn value_of_cast(raw: Raw<'_>) -> Option<Raw<'_>> {
    let last = u32::try_from(raw.named_child_count().checked_sub(1)?).ok()?;
    match raw.kind() {
        "as_expression" | "satisfies_expression" | "type_cast_expression" => raw.named_child(0),
        "cast_expression" => raw.named_child(last),
        _ => None,
    }
}

pub(super) fn operator(raw: Raw<'_>) -> Range<usize> {
    field(raw, &["operator", "operators"]).map_or(0..0, |op| op.byte_range())
}
