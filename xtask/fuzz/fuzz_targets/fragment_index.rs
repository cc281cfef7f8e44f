//! Fuzzer binary of `zvf_fuzz::fragment_index`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::fragment_index(data));
