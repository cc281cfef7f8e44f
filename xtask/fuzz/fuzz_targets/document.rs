//! Fuzzer binary of `zvf_fuzz::document`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::document(data));
