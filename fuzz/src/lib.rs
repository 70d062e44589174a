//! The targets of `tests/hostile/fuzz.rs`, with decisions that the fuzzer makes.

// Most of what is included is there for tests.
#![allow(dead_code, unused_imports, unused_macros)]

#[path = "../../tests/hostile/main.rs"]
mod hostile;

use std::cell::RefCell;

use hostile::dice::Dice;
use hostile::fuzz;

macro_rules! targets {
    ($($name:ident)*) => {$(
        /// Tries one case.
        pub fn $name(bytes: &[u8]) {
            thread_local! {
                static TARGET: RefCell<Box<dyn FnMut(&mut Dice)>> = {
                    // libFuzzer's own hook ends the process at panics that the library catches.
                    drop(std::panic::take_hook());
                    RefCell::new(Box::new(fuzz::$name::target()))
                };
            }
            TARGET.with(|target| target.borrow_mut()(&mut Dice::given(bytes)));
            hostile::allocations::check();
        }
    )*};
}

targets!(checkpoints chunks files footers vectors written);
