//! Fuzzer binary of `zvf_fuzz::array_document`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::array_document(data));
