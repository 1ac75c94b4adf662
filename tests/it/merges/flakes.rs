//! A test of the base that comes and goes by itself neither holds a fix back nor speaks for it.

use tick::demo::{World, forge::Author};

use super::prepared::{Prepared, Wants};

/// Every run in a tree ends otherwise than the one before it; where the fix's new test is, the first one fails.
const SHAKY: &str = "
import pathlib
import unittest


class Shaky(unittest.TestCase):
    def test_turn(self):
        count = pathlib.Path('runs')
        new = pathlib.Path('tests/test_order_without_items.py').exists()
        runs = int(count.read_text()) if count.exists() else int(new)
        count.write_text(str(runs + 1))
        self.assertEqual(runs % 2, 0)
";

fn with_shaky(world: &World) {
    let author = Author {
        name: "ada",
        at: world.now(),
    };
    let file = ("tests/test_shaky.py".to_owned(), Some(SHAKY.as_bytes().to_vec()));
    world
        .repo()
        .commit("main", None, author, "test turns", &[file])
        .unwrap();
}

#[test]
fn a_flake_of_the_base_is_known_by_two_results_on_one_commit() {
    let prepared = Prepared::start(&Wants {
        world: with_shaky,
        ..Wants::default()
    });
    let run = prepared.tick();
    assert_eq!(run.code, Some(0), "{}", run.text);
    prepared.merged_by_us().unwrap_or_else(|| panic!("{}", run.text));
    let pull = prepared.pull();
    prepared.assert_evidence(&pull.head_sha, &run.text);
    let kept = prepared.ask("SELECT detail FROM evidence WHERE kind = ?1", "flakes");
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].contains("test_shaky.Shaky.test_turn"), "{kept:?}");
    let said = "Tests that gave two results on one and the same commit without the change count neither way";
    assert!(pull.body.contains(said), "{}", pull.body);
    prepared.finish();
}
