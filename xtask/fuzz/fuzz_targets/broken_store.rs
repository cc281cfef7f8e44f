//! Fuzzer binary of `zvf_fuzz::broken_store`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::broken_store(data));
