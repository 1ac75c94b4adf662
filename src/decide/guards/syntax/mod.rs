//! Source code of several languages as one kind of tree. tree-sitter reads it; what differs only in the words of a
//! language (a method call here, a function call there) becomes the same shape, so that rules are written once.

mod branches;
mod chain;
pub(super) mod literal;
mod lower;
mod special;
mod table;

#[cfg(test)]
mod syntax_tests;

pub(super) use chain::Link;
pub(super) use lower::parse;

/// A grammar that is compiled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Grammar {
    /// TypeScript without tags.
    Script,
    /// JavaScript, and TypeScript with tags.
    Tsx,
    Python,
    Rust,
    Go,
    Java,
    Ruby,
    CSharp,
    Php,
    Kotlin,
}

impl Grammar {
    /// By the name of a normalised path.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or_default();
        match super::kind::extension(name) {
            "ts" | "mts" | "cts" => Some(Self::Script),
            "js" | "jsx" | "mjs" | "cjs" | "tsx" => Some(Self::Tsx),
            "py" | "pyi" => Some(Self::Python),
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            "cs" => Some(Self::CSharp),
            "php" => Some(Self::Php),
            "kt" | "kts" => Some(Self::Kotlin),
            "rb" | "rake" | "gemspec" => Some(Self::Ruby),
            _ => matches!(name, "rakefile" | "gemfile").then_some(Self::Ruby),
        }
    }

    /// Tests are calls with a sentence: `it("…", …)`.
    pub(super) fn has_sentences(self) -> bool {
        self.is_script() || matches!(self, Self::Ruby | Self::Php | Self::Kotlin)
    }

    pub(super) fn is_script(self) -> bool {
        matches!(self, Self::Script | Self::Tsx)
    }
}

/// What a node is, whatever the language calls it. The order of its children is fixed by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Statements or declarations.
    Block,
    Comment,
    /// A string; its children are what is put into it.
    Text,
    Number,
    /// true, false, null and their like.
    Constant,
    Name,
    /// An object, and a name of it as the node's word.
    Member,
    Index,
    /// What is called, then the arguments; a block that is given along is the last argument.
    Call,
    /// A named argument, or an entry of a map: key and value.
    Pair,
    Spread,
    /// Elements in brackets: arrays, tuples, sets, rows.
    List,
    /// Entries in braces: objects, maps, struct literals.
    Map,
    /// Parameters and body.
    Lambda,
    /// Marks, parameters and body; the name is the node's word.
    Function,
    /// Classes, modules, implementations: marks, what it extends, body.
    Class,
    Params,
    /// A name that is bound by a loop, a parameter or a pattern.
    Bind,
    /// An initialiser, a condition, what is done, and an [`Kind::Else`].
    If,
    Init,
    Else,
    /// What is bound, what is run through, the body.
    Loop,
    /// A value and arms.
    Switch,
    /// Patterns and what is done.
    Arm,
    /// A body, catches, and what is done at last.
    Try,
    /// What is caught and what is done about it.
    Catch,
    /// The names of what is caught or extended.
    Types,
    Finally,
    /// A context and a body.
    With,
    Return,
    Throw,
    Jump,
    Await,
    /// The statement of that name.
    Assert,
    /// Target and value; the operator is the node's word.
    Assign,
    /// Two operands; the operator is the node's word.
    Binary,
    Not,
    Import,
    /// A decorator, annotation or attribute.
    Mark,
    Type,
    /// What could not be read.
    Error,
    Other,
}

pub(super) type Id = usize;

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) line: u32,
    /// A name or an operator.
    pub(super) word: std::ops::Range<usize>,
    pub(super) kids: Vec<Id>,
    pub(super) parent: Id,
    /// Its tokens, comments aside.
    pub(super) tokens: std::ops::Range<usize>,
}

/// A leaf of the text: a word, a mark, or a whole string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) struct Ast<'a> {
    pub(super) text: &'a str,
    pub(super) grammar: Grammar,
    nodes: Vec<Node>,
    tokens: Vec<Token>,
    comments: Vec<Id>,
    /// A part of the text does not belong to the language.
    pub(super) broken: bool,
}

impl<'a> Ast<'a> {
    pub(super) const ROOT: Id = 0;

    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    pub(super) fn kind(&self, id: Id) -> Kind {
        self.nodes[id].kind
    }

    pub(super) fn kids(&self, id: Id) -> &[Id] {
        &self.nodes[id].kids
    }

    /// Its name or operator.
    pub(super) fn word(&self, id: Id) -> &'a str {
        &self.text[self.nodes[id].word.clone()]
    }

    pub(super) fn comments(&self) -> &[Id] {
        &self.comments
    }

    pub(super) fn source(&self, id: Id) -> &'a str {
        &self.text[self.nodes[id].start..self.nodes[id].end]
    }

    pub(super) fn line(&self, id: Id) -> u32 {
        self.nodes[id].line
    }

    /// The first line of a node, for people.
    pub(super) fn shown(&self, id: Id) -> String {
        super::content::visible(self.source(id).lines().next().unwrap_or_default())
    }

    pub(super) fn kids_of(&self, id: Id, kind: Kind) -> impl Iterator<Item = Id> + '_ {
        self.kids(id).iter().copied().filter(move |k| self.kind(*k) == kind)
    }

    pub(super) fn first_of(&self, id: Id, kind: Kind) -> Option<Id> {
        self.kids_of(id, kind).next()
    }

    /// The node and all below it, in the order of the text.
    pub(super) fn walk(&self, id: Id) -> Walk<'_, 'a> {
        Walk {
            ast: self,
            open: vec![id],
        }
    }

    /// From the parent of a node up to the root.
    pub(super) fn above(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let up = |id: Id| (id != Self::ROOT).then(|| self.nodes[id].parent);
        std::iter::successors(up(id), move |id| up(*id))
    }

    pub(super) fn tokens(&self, id: Id) -> &[Token] {
        &self.tokens[self.nodes[id].tokens.clone()]
    }

    pub(super) fn token_text(&self, token: &Token) -> &'a str {
        &self.text[token.start..token.end]
    }

    /// The tokens of a node in one line, so that comments and formatting are nothing.
    pub(super) fn flat(&self, id: Id) -> String {
        let tokens = self.tokens(id);
        let mut out = String::new();
        for (at, token) in tokens.iter().enumerate() {
            let text = self.token_text(token);
            let closes = tokens
                .get(at + 1)
                .is_none_or(|next| matches!(self.token_text(next), ")" | "]" | "}"));
            if text == ";" || (text == "," && closes) {
                continue;
            }
            if !out.is_empty() {
                out.push(' ');
            }
            if token.kind == Kind::Text {
                out.push_str(&literal::text(text));
            } else {
                out.push_str(text);
            }
        }
        out
    }

    /// A body, however it is written: its statements, or the one expression.
    pub(super) fn statements(&self, id: Id) -> Vec<Id> {
        match self.kind(id) {
            Kind::Block => self.kids(id).to_vec(),
            _ => vec![id],
        }
    }

    /// The last child, which is where bodies stand.
    pub(super) fn body(&self, id: Id) -> Option<Id> {
        self.kids(id).last().copied()
    }
}

pub(super) struct Walk<'n, 'a> {
    ast: &'n Ast<'a>,
    open: Vec<Id>,
}

impl Iterator for Walk<'_, '_> {
    type Item = Id;

    fn next(&mut self) -> Option<Id> {
        let id = self.open.pop()?;
        self.open.extend(self.ast.kids(id).iter().rev());
        Some(id)
    }
}
