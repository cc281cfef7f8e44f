//! Fuzzer binary of `zvf_fuzz::lehmer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::lehmer(data));
