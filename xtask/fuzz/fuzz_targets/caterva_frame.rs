//! Fuzzer binary of `zvf_fuzz::caterva_frame`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::caterva_frame(data));
