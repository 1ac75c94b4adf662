# Short names for what stands elsewhere; `just` lists them.

_default:
    @just --list

# exactly what continuous integration runs
ci:
    .ci/run

# fmt, clippy, all tests, and what they need
test:
    scripts/test

fmt:
    cargo fmt

lint:
    cargo clippy --all-targets -- -D warnings

docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --open

# the whole loop on a small world inside this machine
demo:
    cargo run --release -- demo
