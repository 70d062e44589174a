//! Runs a program under ptrace, and has one of its system calls go wrong.
//!
//! All calls of all threads about files below one directory are counted by one counter, so that
//! "the k-th" means one thing, whichever thread makes it.

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::calls::Call;
use crate::stop::{self, Stop};

/// No program that is traced takes longer.
const LIFETIME: Duration = Duration::from_secs(60);

/// From here on calls count; raised by the program.
pub const GO: i32 = libc::SIGUSR1;

/// The program has its answer: from here on no call goes wrong unless the program is killed.
pub const ANSWERED: i32 = libc::SIGUSR2;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    Nothing,
    /// The process is killed before the call.
    Kill,
    /// The call is not done, and fails.
    Fail(i32),
    /// The call is done, and fails all the same: a lost reply.
    Lie(i32),
    /// The call is not done and fails, and so do all steps behind it, until the program has its
    /// answer: a disk that is full, or gone.
    FailFrom(i32),
}

/// Which call goes wrong, and how.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// What goes wrong.
    pub fault: Fault,
    /// At which call that counts, from 1.
    pub at: usize,
    /// Whether calls that only look count too.
    pub reads: bool,
    /// Whether calls count from the first, for a program that raises no signal.
    pub at_once: bool,
    /// Whether the file system says that it has no files without names.
    pub by_name: bool,
}

impl Plan {
    /// Nothing goes wrong; the calls are counted.
    pub const COUNT: Plan = Plan::new(Fault::Nothing, 0);

    /// The k-th step.
    pub const fn new(fault: Fault, at: usize) -> Plan {
        Plan {
            fault,
            at,
            reads: false,
            at_once: false,
            by_name: false,
        }
    }

    /// On a file system without files without names.
    pub const fn by_name(self) -> Plan {
        Plan {
            by_name: true,
            ..self
        }
    }

    /// For a program that raises no signal.
    pub const fn at_once(self) -> Plan {
        Plan {
            at_once: true,
            ..self
        }
    }

    /// With calls that only look.
    pub const fn with_reads(self) -> Plan {
        Plan {
            reads: true,
            ..self
        }
    }
}

/// What was seen of a run.
#[derive(Debug, Default)]
pub struct Trace {
    /// The calls that counted, in their order.
    pub calls: Vec<Call>,
    /// How many of them had begun when the program had its answer; `None` when it never had.
    pub answered: Option<usize>,
    /// The call that went wrong.
    pub struck: Option<Call>,
    /// With what code the process ended; `None` when it was killed as planned.
    pub code: Option<i32>,
}

/// Told of each call that counts and went well, while its thread is stopped behind it.
pub type Observer<'a> = &'a mut dyn FnMut(libc::pid_t, &Call, &[u64; 6], i64);

/// A call that a thread is in.
struct Under {
    call: Call,
    arguments: [u64; 6],
    answer: Option<i32>,
}

/// Runs `command` to its end. Calls about what is below `root` count, after the program has raised
/// [`GO`].
///
/// Panics when the program is killed by another's signal, or takes too long.
pub fn run(
    command: &mut Command,
    root: &Path,
    plan: Plan,
    observer: Option<Observer<'_>>,
) -> Trace {
    // SAFETY: ptrace alone is called between fork and exec, which is safe there.
    unsafe { command.pre_exec(stop::trace_me) };
    let child = command.spawn().expect("the program can be run");
    let pid = child.id().cast_signed();
    let (ended, rest) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if rest.recv_timeout(LIFETIME) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                eprintln!("a traced program takes longer than {LIFETIME:?}; it is killed");
                stop::kill(pid);
            }
        });
        let mut tracer = Tracer {
            pid,
            root,
            plan,
            observer,
            going: plan.at_once,
            under: HashMap::new(),
            trace: Trace::default(),
        };
        let ending = tracer.follow(child);
        drop(ended);
        match ending {
            Stop::Exited(code) => tracer.trace.code = Some(code),
            Stop::Killed(libc::SIGKILL) if plan.fault == Fault::Kill => {}
            other => panic!("the program ended badly: {other:?}, {:?}", tracer.trace),
        }
        tracer.trace
    })
}

struct Tracer<'a, 'o> {
    pid: libc::pid_t,
    root: &'a Path,
    plan: Plan,
    observer: Option<Observer<'o>>,
    going: bool,
    under: HashMap<libc::pid_t, Under>,
    trace: Trace,
}

impl Tracer<'_, '_> {
    /// Follows all threads until the process has ended. `child` is taken, since nobody else may
    /// wait for it.
    fn follow(&mut self, child: Child) -> Stop {
        let pid = child.id().cast_signed();
        drop(child);
        let first = stop::wait().expect("the program is there");
        assert!(
            matches!(first, (_, Stop::Signal(libc::SIGTRAP))),
            "{first:?}"
        );
        stop::set_options(pid);
        stop::go_on(pid, 0, self.going);
        loop {
            let Some((tid, stopped)) = stop::wait() else {
                panic!("the program is gone without a word: {:?}", self.trace);
            };
            let mut signal = 0;
            match stopped {
                Stop::Exited(_) | Stop::Killed(_) if tid == pid => return stopped,
                Stop::Exited(_) | Stop::Killed(_) => continue,
                Stop::Call => self.at_call(tid),
                Stop::Event => {}
                Stop::Signal(GO) => self.going = true,
                Stop::Signal(ANSWERED) => self.trace.answered = Some(self.trace.calls.len()),
                // How a new thread begins.
                Stop::Signal(libc::SIGSTOP) => {}
                Stop::Signal(other) => signal = other,
            }
            // Before that, stops would only cost time.
            stop::go_on(tid, signal, self.going);
        }
    }

    fn at_call(&mut self, tid: libc::pid_t) {
        match stop::call_info(tid) {
            Some(stop::Info::Entry { number, arguments }) => {
                self.under.remove(&tid);
                if let Some(call) = Call::of(tid, number, &arguments).filter(|_| self.going) {
                    self.enter(tid, call, arguments);
                }
            }
            Some(stop::Info::Exit { result }) => {
                let Some(under) = self.under.remove(&tid) else {
                    return;
                };
                if let Some(errno) = under.answer {
                    stop::set_result(tid, -i64::from(errno));
                } else if result >= 0
                    && let Some(observer) = &mut self.observer
                {
                    observer(tid, &under.call, &under.arguments, result);
                }
            }
            // It was killed meanwhile.
            None => {}
        }
    }

    fn enter(&mut self, tid: libc::pid_t, call: Call, arguments: [u64; 6]) {
        if !call.is_below(self.root) || !(call.is_step() || self.plan.reads) {
            return;
        }
        if self.plan.by_name && call.is_unnamed {
            stop::skip_call(tid);
            let under = Under {
                call,
                arguments,
                answer: Some(libc::EOPNOTSUPP),
            };
            self.under.insert(tid, under);
            return;
        }
        self.trace.calls.push(call.clone());
        let now = self.trace.calls.len();
        let mut answer = None;
        let unanswered = self.trace.answered.is_none();
        match self.plan.fault {
            Fault::Kill if now == self.plan.at => {
                self.trace.struck = Some(call.clone());
                stop::skip_call(tid);
                stop::kill(self.pid);
            }
            Fault::Fail(errno) if now == self.plan.at && unanswered => {
                stop::skip_call(tid);
                answer = Some(errno);
            }
            Fault::Lie(errno) if now == self.plan.at && unanswered => answer = Some(errno),
            Fault::FailFrom(errno) if now >= self.plan.at && unanswered && call.is_step() => {
                stop::skip_call(tid);
                answer = Some(errno);
            }
            _ => {}
        }
        if answer.is_some() {
            self.trace.struck.get_or_insert_with(|| call.clone());
        }
        let under = Under {
            call,
            arguments,
            answer,
        };
        self.under.insert(tid, under);
    }
}
