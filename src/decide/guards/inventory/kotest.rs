//! Kotest: tests whose title is a text before a block, and tests that are made of rows.

use super::{
    Role,
    find::{Find, Place},
    rows,
    switch::Switch,
};
use crate::decide::guards::syntax::{Grammar, Id, Kind, Link};

impl Find<'_, '_> {
    /// Kotlin's `"a title" { … }` and `"a title".config(enabled = false) { … }`.
    pub(super) fn titled(&mut self, id: Id, links: &[Link<'_>], place: &Place) -> bool {
        let ast = self.ast;
        let mut root = id;
        while let (Kind::Call | Kind::Member, Some(first)) = (ast.kind(root), ast.kids(root).first()) {
            root = *first;
        }
        let mut args = links.iter().flat_map(|l| l.args.iter().flatten());
        let body = args.find(|a| ast.kind(**a) == Kind::Lambda).copied();
        let (Grammar::Kotlin, Kind::Text, Some(body)) = (ast.grammar, ast.kind(root), body) else {
            return false;
        };
        let mut switch = Switch::default();
        let title = switch.kotest(&ast.flat(root));
        for link in links.iter().filter(|l| l.name == "config") {
            switch.options(ast, link.args.as_deref().unwrap_or_default());
        }
        let inner = Place {
            names: place.names.iter().cloned().chain([title]).collect(),
            switch: switch.within(&place.switch),
            ..place.clone()
        };
        self.case(id, body, &inner, Role::Test);
        true
    }

    /// Kotest's `withData(rows…) { row -> … }` makes a test of each row.
    pub(super) fn with_data(&mut self, id: Id, word: &str, place: &Place) -> bool {
        let ast = self.ast;
        let body = ast.kids(id).last().copied().filter(|b| ast.kind(*b) == Kind::Lambda);
        let Some(body) = body
            .filter(|_| ast.grammar == Grammar::Kotlin && matches!(word, "withdata" | "withcontexts" | "withtests"))
        else {
            return false;
        };
        let mut inner = place.clone();
        inner.tables.push(rows::given(ast, &self.outer, id));
        inner.names.push(word.to_owned());
        self.case(id, body, &inner, Role::Test);
        true
    }
}
