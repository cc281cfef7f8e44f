//! Fuzzer binary of `zvf_fuzz::dtype`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::dtype(data));
