//! The reader that `FUZZ_TARGET` names. With `FUZZ_SEEDS` its seeds are first written into that directory.

#![no_main]

use std::{path::Path, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use tick::fuzz::{TARGETS, Target, target};

static CHOSEN: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        panic!("FUZZ_TARGET is {name:?}; there is {}", names.join(" "))
    })
});

fuzz_target!(
    init: {
        if let Ok(dir) = std::env::var("FUZZ_SEEDS") {
            for (n, seed) in CHOSEN.seeds.iter().enumerate() {
                std::fs::write(Path::new(&dir).join(format!("seed-{n}")), seed).expect("the seeds can be written");
            }
        }
    },
    |data: &[u8]| (CHOSEN.run)(data)
);
