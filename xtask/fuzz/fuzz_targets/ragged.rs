//! Fuzzer binary of `zvf_fuzz::ragged`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::ragged(data));
