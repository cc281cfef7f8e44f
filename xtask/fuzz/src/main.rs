//! The fuzzer: libFuzzer around the target of `zvf_fuzz::TARGETS` that the variable `ZVF_FUZZ_TARGET` names.
#![no_main]
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a fuzzer without a target has nothing to do"
)]

use std::sync::LazyLock;

static TARGET: LazyLock<zvf_fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("ZVF_FUZZ_TARGET").expect("ZVF_FUZZ_TARGET names a target");
    let found = zvf_fuzz::TARGETS.iter().find(|(known, _)| *known == name);
    found
        .unwrap_or_else(|| panic!("no target {name} in zvf_fuzz::TARGETS"))
        .1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
