//! Files that are written while the tests run.

use super::*;

#[test]
fn what_the_tests_write_in_the_repository_is_not_what_is_merged() {
    let all = runs("old=p", "old=p | new=a:x", "old=p | new=p");
    let wrote = |mut suite: Option<Suite>| {
        suite.as_mut().unwrap().written.insert("shop.py".to_owned());
        suite
    };
    let why = "unproven: were written: shop.py";
    check(
        &facts(),
        &Runs {
            red: wrote(all.red.clone()),
            ..all.clone()
        },
        why,
    );
    check(
        &facts(),
        &Runs {
            own: wrote(all.own.clone()),
            ..all.clone()
        },
        why,
    );
    let mut alone = all.clone();
    alone.alone[0].written.insert("shop.py".to_owned());
    check(&facts(), &alone, why);
    // What the base's own tests do is nobody's trick.
    let both = Runs {
        base: wrote(all.base.clone()),
        head: wrote(all.head.clone()),
        ..all
    };
    check(&facts(), &both, "proven");
}
