//! Whole proofs with cargo.

use super::*;

#[tokio::test]
async fn cargo_proofs() {
    let base = [
        (
            "Cargo.toml",
            "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n\n[workspace]\n",
        ),
        (
            "src/lib.rs",
            "pub fn total(coupon: Option<u32>) -> u32 { 10 - coupon.unwrap() }\n",
        ),
        (
            "tests/old.rs",
            "#[test]\nfn with_coupon() { assert_eq!(shop::total(Some(1)), 9); }\n",
        ),
    ];
    let fix = [(
        "src/lib.rs",
        "pub fn total(coupon: Option<u32>) -> u32 { 10 - coupon.unwrap_or(0) }\n",
    )];
    let case = |text| Case {
        command: "cargo test",
        base: &base,
        tests: text,
        fix: &fix,
        exception: ("panic", "called `Option::unwrap()` on a `None` value"),
    };
    let proven = case(&[(
        "tests/new.rs",
        "#[test]\nfn without_coupon() { assert_eq!(shop::total(None), 10); }\n",
    )])
    .prove()
    .await;
    graded(&proven, "panic of the incident", "proven");
    assert_eq!(proven.proof.witness_ids, ["new::without_coupon"]);
    assert_eq!(proven.proof.green_runs, 2);

    let proven = case(&[(
        "tests/new.rs",
        "#[test]\nfn without_coupon() { shop::safe_total(None); }\n",
    )])
    .prove()
    .await;
    graded(&proven, "does not build", "not-red: cannot even be loaded");
}
