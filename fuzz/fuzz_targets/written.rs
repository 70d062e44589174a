#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| deltafs_fuzz::written(bytes));
