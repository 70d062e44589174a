//! ptrace(2), as far as it is needed.

use std::io;
use std::ptr;

/// Why a thread has stopped, or is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It ended, with this code.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// It is about to make a call, or has made it.
    Call,
    /// It has started a thread, or the like.
    Event,
    /// It is about to get a signal.
    Signal(i32),
}

/// What a thread that has stopped for a call is at.
pub enum Info {
    /// About to make it.
    Entry {
        /// Which.
        number: u64,
        /// With what.
        arguments: [u64; 6],
    },
    /// It is made.
    Exit {
        /// What it answers.
        result: i64,
    },
}

/// For the child, between fork and exec.
pub fn trace_me() -> io::Result<()> {
    // SAFETY: this request takes no pointers.
    match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The next thread of this thread's programs that stops or ends; `None` when there are none.
pub fn wait() -> Option<(libc::pid_t, Stop)> {
    loop {
        let mut status = 0;
        // SAFETY: the status outlives the call. Programs of other threads are theirs to wait for.
        let tid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
        if tid < 0 {
            if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) {
                continue;
            }
            return None;
        }
        let stop = if libc::WIFEXITED(status) {
            Stop::Exited(libc::WEXITSTATUS(status))
        } else if libc::WIFSIGNALED(status) {
            Stop::Killed(libc::WTERMSIG(status))
        } else if status >> 16 != 0 {
            Stop::Event
        } else {
            match libc::WSTOPSIG(status) {
                // What PTRACE_O_TRACESYSGOOD makes of it.
                signal if signal == libc::SIGTRAP | 0x80 => Stop::Call,
                signal => Stop::Signal(signal),
            }
        };
        return Some((tid, stop));
    }
}

/// Has all threads and children traced, calls told from signals, and the program die with us.
pub fn set_options(pid: libc::pid_t) {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: this request takes no pointers.
    let done = unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

/// Lets a thread run: until its next call, or only until its next signal.
pub fn go_on(tid: libc::pid_t, signal: i32, to_next_call: bool) {
    let request = match to_next_call {
        true => libc::PTRACE_SYSCALL,
        false => libc::PTRACE_CONT,
    };
    // A thread that was killed meanwhile is not there any more; waiting tells.
    // SAFETY: this request takes no pointers.
    unsafe { libc::ptrace(request, tid, 0, signal) };
}

/// Kills a process.
pub fn kill(pid: libc::pid_t) {
    // SAFETY: it is a program that this process has started and not waited for.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// What a thread that has stopped for a call is at; `None` when it was killed meanwhile.
pub fn call_info(tid: libc::pid_t) -> Option<Info> {
    // SAFETY: all zeros is a value of it, and the kernel writes at most its size.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let done = unsafe {
        libc::ptrace(
            libc::PTRACE_GET_SYSCALL_INFO,
            tid,
            size_of::<libc::ptrace_syscall_info>(),
            &raw mut info,
        )
    };
    if done <= 0 {
        return None;
    }
    match info.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY => {
            // SAFETY: `op` tells which.
            let entry = unsafe { info.u.entry };
            Some(Info::Entry {
                number: entry.nr,
                arguments: entry.args,
            })
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => Some(Info::Exit {
            // SAFETY: `op` tells which.
            result: unsafe { info.u.exit.sval },
        }),
        _ => None,
    }
}

/// Has a thread before a call not make it.
pub fn skip_call(tid: libc::pid_t) {
    change_registers(tid, |registers| registers.orig_rax = u64::MAX);
}

/// Has a thread behind a call get this answer.
pub fn set_result(tid: libc::pid_t, result: i64) {
    change_registers(tid, |registers| registers.rax = result.cast_unsigned());
}

fn change_registers(tid: libc::pid_t, change: impl FnOnce(&mut libc::user_regs_struct)) {
    // SAFETY: all zeros is a value of it.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let none = ptr::null_mut::<libc::c_void>();
    // SAFETY: the kernel writes one such value, and reads one.
    unsafe {
        if libc::ptrace(libc::PTRACE_GETREGS, tid, none, &raw mut registers) == 0 {
            change(&mut registers);
            libc::ptrace(libc::PTRACE_SETREGS, tid, none, &raw const registers);
        }
    }
}
