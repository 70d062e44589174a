//! Commits that are cut off: at every system call by which one changes the disk, the process is
//! killed, or the call fails, or the power does. Afterwards nothing is lost, nothing is half there,
//! and trying again makes the version once.
//!
//! A program that commits through the library, without a mount, runs under ptrace ([`tracer`]); what
//! it has left is looked at by [`check`]. The first run of each mode counts the calls. By default
//! some of them are tried, spread evenly; `DELTAFS_CRASH=all` tries every one.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

#[cfg(target_arch = "x86_64")]
mod area;
#[cfg(target_arch = "x86_64")]
mod begin;
#[cfg(target_arch = "x86_64")]
mod calls;
#[cfg(target_arch = "x86_64")]
mod case;
#[cfg(target_arch = "x86_64")]
mod check;
#[cfg(target_arch = "x86_64")]
mod create;
#[cfg(target_arch = "x86_64")]
mod durable;
#[cfg(target_arch = "x86_64")]
mod faults;
#[cfg(target_arch = "x86_64")]
mod forgotten;
#[cfg(target_arch = "x86_64")]
mod kills;
#[cfg(target_arch = "x86_64")]
mod log;
#[cfg(target_arch = "x86_64")]
mod mode;
#[cfg(target_arch = "x86_64")]
mod pair;
#[cfg(target_arch = "x86_64")]
mod power;
#[cfg(target_arch = "x86_64")]
mod recovery;
#[cfg(target_arch = "x86_64")]
mod stop;
#[cfg(target_arch = "x86_64")]
mod tracer;
#[cfg(target_arch = "x86_64")]
mod worker;

#[cfg(target_arch = "x86_64")]
// What it has for the tests of staging alone is not used here.
#[path = "../staging/rig.rs"]
#[allow(dead_code)]
mod rig;
#[cfg(target_arch = "x86_64")]
#[path = "../support/mod.rs"]
mod support;

#[cfg(not(target_arch = "x86_64"))]
#[test]
fn only_on_x86_64() {
    eprintln!("skipped: having system calls fail under ptrace is written for x86_64 alone");
}
