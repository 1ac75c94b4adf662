//! Calls as chains of links: `expect(a).not.toBe(b)` is `expect(…)`, `not`, `toBe(…)` in every language.

use super::{Ast, Id, Kind};

/// One link of a chain: a name, and arguments where it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::decide::guards) struct Link<'a> {
    /// Empty where something that has no name is called, such as the result of a call.
    pub(in crate::decide::guards) name: &'a str,
    pub(in crate::decide::guards) args: Option<Vec<Id>>,
    pub(in crate::decide::guards) id: Id,
}

impl Link<'_> {
    pub(in crate::decide::guards) fn arg(&self, n: usize) -> Option<Id> {
        self.args.as_ref().and_then(|args| args.get(n)).copied()
    }
}

impl<'a> Ast<'a> {
    /// The links of a call, member or name; a chain of other expressions begins with a link without name.
    pub(in crate::decide::guards) fn chain(&self, id: Id) -> Vec<Link<'a>> {
        let mut links = Vec::new();
        let mut at = id;
        let mut called: Option<(Vec<Id>, Id)> = None;
        loop {
            let (args, whole) = match called.take() {
                Some((args, whole)) => (Some(args), whole),
                None => (None, at),
            };
            match self.kind(at) {
                Kind::Call => {
                    // The result of a call is called.
                    if args.is_some() {
                        links.push(Link {
                            name: "",
                            args,
                            id: whole,
                        });
                    }
                    let kids = self.kids(at);
                    called = Some((kids[1..].to_vec(), at));
                    at = kids[0];
                }
                Kind::Member => {
                    links.push(Link {
                        name: self.word(at),
                        args,
                        id: whole,
                    });
                    match self.kids(at).first() {
                        Some(object) => at = *object,
                        None => break,
                    }
                }
                Kind::Await if args.is_none() && !self.kids(at).is_empty() => at = self.kids(at)[0],
                Kind::Name => {
                    links.push(Link {
                        name: self.word(at),
                        args,
                        id: whole,
                    });
                    break;
                }
                _ => {
                    links.push(Link {
                        name: "",
                        args,
                        id: whole,
                    });
                    break;
                }
            }
        }
        links.reverse();
        links
    }

    /// `a.b.c` of a chain, without arguments.
    pub(in crate::decide::guards) fn path(&self, id: Id) -> String {
        let links = self.chain(id);
        let names: Vec<&str> = links.iter().map(|l| l.name).collect();
        names.join(".")
    }
}
