//! The kill matrix: every kind of effect, every phase, and then run again, two runs at once, or a lost answer. Each
//! story is told once undisturbed; however often it is cut down, it has to end in the same world.
//!
//! One disturbed story ends the process at every effect it reaches, one after the other, so a world covers a phase for
//! all of its kinds. What a world cannot show (a mail server that hangs up) is in `mail.rs`.

mod homes;
mod locks;
mod looks;
mod mail;
mod quiet;
mod rig;

use std::{collections::BTreeSet, sync::OnceLock};

use tick::steps::effect::{EffectKind, Phase};

use self::rig::{Rig, State};

/// What happens in the world around the effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Story {
    /// A sensitive path: a person approves, the rules want a second one, then the merge makes it worse.
    TakenBack,
    /// A draft in monitor-only; somebody else mends the default branch.
    Mended,
    /// From the bug to a merge that holds.
    Plain,
    /// The same, where CI computes the proof.
    ByCi,
    /// A red run of CI that is green when its failed jobs run again.
    Flake,
}

/// The story that reaches a kind. A new kind does not compile before it has one.
const fn story_of(kind: EffectKind) -> Story {
    match kind {
        EffectKind::Push
        | EffectKind::OpenPull
        | EffectKind::Body
        | EffectKind::Label
        | EffectKind::Ready
        | EffectKind::Review
        | EffectKind::Merge
        | EffectKind::Note
        | EffectKind::PushRevert
        | EffectKind::OpenRevert
        | EffectKind::MergeRevert
        | EffectKind::Mail => Story::TakenBack,
        EffectKind::Comment | EffectKind::ClosePull => Story::Mended,
        EffectKind::PushWitness | EffectKind::DropWitness => Story::ByCi,
        EffectKind::Rerun => Story::Flake,
    }
}

/// What follows the death of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    RunAgain,
    TwoAtOnce,
    /// Every answer to a write is dropped as well, whether or not a process died over it.
    LostAnswers,
}

fn kinds_of(story: Story) -> BTreeSet<EffectKind> {
    EffectKind::ALL
        .into_iter()
        .filter(|kind| story_of(*kind) == story)
        .collect()
}

fn undisturbed(story: Story) -> &'static State {
    static TAKEN_BACK: OnceLock<State> = OnceLock::new();
    static MENDED: OnceLock<State> = OnceLock::new();
    static PLAIN: OnceLock<State> = OnceLock::new();
    static BY_CI: OnceLock<State> = OnceLock::new();
    static FLAKE: OnceLock<State> = OnceLock::new();
    let cell = match story {
        Story::TakenBack => &TAKEN_BACK,
        Story::Mended => &MENDED,
        Story::Plain => &PLAIN,
        Story::ByCi => &BY_CI,
        Story::Flake => &FLAKE,
    };
    cell.get_or_init(|| {
        let mut rig = Rig::new(story);
        rig.live_through(&BTreeSet::new(), Phase::BeforeIntent, After::RunAgain);
        rig.finish()
    })
}

fn disturbed(story: Story, phase: Phase, after: After) {
    let kinds = kinds_of(story);
    assert!(!kinds.is_empty());
    let mut rig = Rig::new(story);
    if after == After::LostAnswers {
        rig.lose_answers();
    }
    rig.live_through(&kinds, phase, after);
    let state = rig.finish();
    assert_eq!(
        &state,
        undisturbed(story),
        "{story:?}, killed {phase:?}, then {after:?}"
    );
}

macro_rules! matrix {
    ($($name:ident: $story:ident $phase:ident $after:ident;)+) => {$(
        #[test]
        fn $name() {
            disturbed(Story::$story, Phase::$phase, After::$after);
        }
    )+};
}

matrix! {
    before_intent_then_again: TakenBack BeforeIntent RunAgain;
    before_intent_then_two: TakenBack BeforeIntent TwoAtOnce;
    before_intent_then_lost: TakenBack BeforeIntent LostAnswers;
    after_intent_then_again: TakenBack AfterIntent RunAgain;
    after_intent_then_two: TakenBack AfterIntent TwoAtOnce;
    after_intent_then_lost: TakenBack AfterIntent LostAnswers;
    after_effect_then_again: TakenBack AfterEffect RunAgain;
    after_effect_then_two: TakenBack AfterEffect TwoAtOnce;
    after_effect_then_lost: TakenBack AfterEffect LostAnswers;
    after_record_then_again: TakenBack AfterRecord RunAgain;
    after_record_then_two: TakenBack AfterRecord TwoAtOnce;
    after_record_then_lost: TakenBack AfterRecord LostAnswers;
    mended_before_intent_then_again: Mended BeforeIntent RunAgain;
    mended_before_intent_then_two: Mended BeforeIntent TwoAtOnce;
    mended_before_intent_then_lost: Mended BeforeIntent LostAnswers;
    mended_after_intent_then_again: Mended AfterIntent RunAgain;
    mended_after_intent_then_two: Mended AfterIntent TwoAtOnce;
    mended_after_intent_then_lost: Mended AfterIntent LostAnswers;
    mended_after_effect_then_again: Mended AfterEffect RunAgain;
    mended_after_effect_then_two: Mended AfterEffect TwoAtOnce;
    mended_after_effect_then_lost: Mended AfterEffect LostAnswers;
    mended_after_record_then_again: Mended AfterRecord RunAgain;
    mended_after_record_then_two: Mended AfterRecord TwoAtOnce;
    mended_after_record_then_lost: Mended AfterRecord LostAnswers;
    by_ci_before_intent_then_again: ByCi BeforeIntent RunAgain;
    by_ci_after_intent_then_two: ByCi AfterIntent TwoAtOnce;
    by_ci_after_effect_then_again: ByCi AfterEffect RunAgain;
    by_ci_after_effect_then_lost: ByCi AfterEffect LostAnswers;
    by_ci_after_record_then_two: ByCi AfterRecord TwoAtOnce;
    rerun_before_intent_then_again: Flake BeforeIntent RunAgain;
    rerun_after_intent_then_two: Flake AfterIntent TwoAtOnce;
    rerun_after_intent_then_lost: Flake AfterIntent LostAnswers;
    rerun_after_effect_then_again: Flake AfterEffect RunAgain;
    rerun_after_effect_then_lost: Flake AfterEffect LostAnswers;
    rerun_after_record_then_two: Flake AfterRecord TwoAtOnce;
}

#[test]
fn every_kind_has_a_story_of_the_matrix() {
    let covered: BTreeSet<EffectKind> = [Story::TakenBack, Story::Mended, Story::ByCi, Story::Flake]
        .into_iter()
        .flat_map(kinds_of)
        .collect();
    assert_eq!(covered, EffectKind::ALL.into_iter().collect());
    assert_eq!(Phase::ALL.len(), 4, "the table above has four phases");
}

#[test]
fn a_story_without_a_kill_has_what_it_is_about() {
    let taken_back = undisturbed(Story::TakenBack);
    assert_eq!(
        taken_back.pulls.len(),
        3,
        "the bug's, ours, the revert: {taken_back:#?}"
    );
    assert_eq!((taken_back.notes, taken_back.mails.len()), (1, 3), "{taken_back:#?}");
    assert!(taken_back.outcomes[0].contains("TakenBack"), "{taken_back:#?}");
    let mended = undisturbed(Story::Mended);
    assert_eq!((mended.pulls.len(), mended.comments.len()), (2, 1), "{mended:#?}");
    assert!(mended.outcomes[0].contains("Gone"), "{mended:#?}");
}
