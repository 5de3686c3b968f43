//! A run as a service: what it gives up once all is open, and what its manager is told.
//!
//! The manager is told by datagrams, as `sd_notify(3)` describes: `READY=1` when everything that
//! was asked for is open, `STOPPING=1` when the run is to end, and `WATCHDOG=1` from the loop
//! itself, so that a loop that is stuck says nothing.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use tidemill_event::{Loop, User};
use tidemill_stat::Registry;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

/// What this file says at most.
const CEILING: Level = Level::Info;

/// How a run is a service; by default it is none.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// As whom it goes on when everything is open.
    pub user: Option<User>,
    /// Who has started it.
    pub manager: Option<Manager>,
}

/// The service manager.
#[derive(Clone, Debug)]
pub struct Manager {
    socket: Arc<UnixDatagram>,
    /// It restarts who is silent as long.
    watchdog: Option<Duration>,
}

impl Manager {
    /// The one that the environment names, if there is one: `NOTIFY_SOCKET`, `WATCHDOG_USEC`,
    /// `WATCHDOG_PID`.
    ///
    /// # Errors
    /// Its socket cannot be reached, as text.
    pub fn of_environment() -> Result<Option<Manager>, String> {
        let Some(name) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let number = |name: &str| env::var(name).ok()?.parse::<u64>().ok();
        let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == std::process::id().into());
        let usec = number("WATCHDOG_USEC").filter(|&usec| is_ours && usec > 0);
        let socket = connect(&name).map_err(|error| {
            format!("cannot tell the service manager at {}: {error}", name.to_string_lossy())
        })?;
        let watchdog = usec.map(Duration::from_micros);
        Ok(Some(Manager { socket: Arc::new(socket), watchdog }))
    }

    fn tell(&self, state: &str) {
        if let Err(error) = self.socket.send(state.as_bytes()) {
            say!(Info, "service", "the service manager does not take {state}: {error}");
        }
    }
}

/// A name that begins with `@` is one of the abstract namespace.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(name)?,
        _ => return Err(io::Error::other("neither a path nor an abstract name")),
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    // A manager that does not read must not stop the loop.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl Service {
    /// All that was asked for is open: gives the folder of the run's counters to the user that it
    /// goes on as, gives up root, then tells the manager now and, if it wants
    /// to know, regularly from `events`.
    ///
    /// # Errors
    /// Root could not be given up: the run must not begin.
    pub fn ready<W: 'static>(
        &self,
        events: &mut Loop<W>,
        registry: Option<&Registry>,
    ) -> Result<(), String> {
        if let Some(user) = self.user {
            if let Some(Err(error)) = registry.map(|registry| registry.give_to(user.ids())) {
                say!(Warn, "service", "that user cannot ask this run: {error}");
            }
            user.assume().map_err(|error| format!("cannot go on as another user: {error}"))?;
            registry.into_iter().for_each(Registry::clean_given);
            say!(Info, "service", "goes on as {user:?}");
        }
        let Some(manager) = &self.manager else { return Ok(()) };
        manager.tell("READY=1");
        if let Some(silence) = manager.watchdog {
            let manager = manager.clone();
            events.every(silence / 2, move |_, _, _| manager.tell("WATCHDOG=1"));
        }
        Ok(())
    }

    /// The run is about to end.
    pub fn stopping(&self) {
        self.manager.iter().for_each(|manager| manager.tell("STOPPING=1"));
    }
}
