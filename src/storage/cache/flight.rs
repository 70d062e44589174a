//! One worker a key: others wait for what it makes.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::EntryKey;

/// The keys that are being worked on.
#[derive(Debug)]
pub(super) struct Flights<T> {
    running: Mutex<HashMap<EntryKey, Arc<Flight<T>>>>,
}

impl<T> Default for Flights<T> {
    fn default() -> Flights<T> {
        Flights {
            running: Mutex::default(),
        }
    }
}

#[derive(Debug)]
struct Flight<T> {
    state: Mutex<State<T>>,
    ended: Condvar,
}

#[derive(Debug)]
enum State<T> {
    Running,
    Landed(T),
    Failed,
}

/// What a caller is to do.
pub(super) enum Turn<'a, T> {
    /// Work, and say what came of it.
    Lead(Lead<'a, T>),
    /// Take what another made.
    Landed(T),
}

/// The right to work on a key. Dropping it without [`Lead::land`], also in a panic, lets the next
/// caller try.
pub(super) struct Lead<'a, T> {
    flights: &'a Flights<T>,
    key: EntryKey,
    flight: Arc<Flight<T>>,
}

impl<T: Clone> Flights<T> {
    /// Waits while another works on `key`.
    pub(super) fn turn(&self, key: &EntryKey) -> Turn<'_, T> {
        loop {
            let mut running = self.running.lock();
            let Some(flight) = running.get(key).cloned() else {
                let flight = Arc::new(Flight {
                    state: Mutex::new(State::Running),
                    ended: Condvar::new(),
                });
                running.insert(*key, flight.clone());
                return Turn::Lead(Lead {
                    flights: self,
                    key: *key,
                    flight,
                });
            };
            drop(running);
            let mut state = flight.state.lock();
            while matches!(*state, State::Running) {
                flight.ended.wait(&mut state);
            }
            if let State::Landed(value) = &*state {
                return Turn::Landed(value.clone());
            }
        }
    }
}

impl<T> Lead<'_, T> {
    /// Gives `value` to all who wait.
    pub(super) fn land(self, value: T) {
        *self.flight.state.lock() = State::Landed(value);
    }
}

impl<T> Drop for Lead<'_, T> {
    fn drop(&mut self) {
        // First off the list, so that whoever wakes to a failure does not find it there again.
        self.flights.running.lock().remove(&self.key);
        let mut state = self.flight.state.lock();
        if matches!(*state, State::Running) {
            *state = State::Failed;
        }
        self.flight.ended.notify_all();
    }
}
