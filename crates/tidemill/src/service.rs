//! The run as a service: changes the user once everything is open, and notifies the service
//! manager.
//!
//! The manager gets datagrams as described in `sd_notify(3)`: `READY=1` when all requested sockets
//! and files are open, `STOPPING=1` when the run is about to end, and `WATCHDOG=1` from the loop
//! itself, so that a stuck loop sends none.

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

use crate::error::Error;

/// The maximum log level of this file.
const CEILING: Level = Level::Info;

/// The role of a run as a service; none by default.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// The user to change to when everything is open.
    pub user: Option<User>,
    /// The service manager that has started the run.
    pub manager: Option<Manager>,
}

/// The service manager.
#[derive(Clone, Debug)]
pub struct Manager {
    socket: Arc<UnixDatagram>,
    /// It restarts a service that has been silent for this time.
    watchdog: Option<Duration>,
}

impl Manager {
    /// The manager named by the environment, if there is one: `NOTIFY_SOCKET`, `WATCHDOG_USEC`,
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
            format!("cannot notify the service manager at {}: {error}", name.to_string_lossy())
        })?;
        let watchdog = usec.map(Duration::from_micros);
        Ok(Some(Manager { socket: Arc::new(socket), watchdog }))
    }

    fn notify(&self, state: &str) {
        if let Err(error) = self.socket.send(state.as_bytes()) {
            say!(Info, "service", "the service manager does not take {state}: {error}");
        }
    }
}

/// A name that begins with `@` is in the abstract namespace.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        [b'/', ..] => SocketAddr::from_pathname(name)?,
        _ => return Err(io::Error::other("neither a path nor an abstract name")),
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    // A manager that does not read must not block the loop.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl Service {
    /// Everything is open: gives the folder of the run's counters to the user that it changes to,
    /// gives up root, then notifies the manager now and, if it has a watchdog, regularly from
    /// `events`.
    ///
    /// # Errors
    /// Root could not be given up: the run must not start.
    pub fn ready<W: 'static>(
        &self,
        events: &mut Loop<W>,
        registry: Option<&Registry>,
    ) -> Result<(), Error> {
        if let Some(user) = self.user {
            if let Some(Err(error)) = registry.map(|registry| registry.give_to(user.ids())) {
                say!(Warn, "service", "that user cannot ask this run: {error}");
            }
            user.assume()
                .map_err(|error| Error::Start(format!("cannot go on as another user: {error}")))?;
            registry.into_iter().for_each(Registry::clean_given);
            say!(Info, "service", "goes on as {user:?}");
        }
        let Some(manager) = &self.manager else { return Ok(()) };
        manager.notify("READY=1");
        if let Some(silence) = manager.watchdog {
            let manager = manager.clone();
            events.every(silence / 2, move |_, _, _| manager.notify("WATCHDOG=1"));
        }
        Ok(())
    }

    /// The run is about to end.
    pub fn stopping(&self) {
        self.manager.iter().for_each(|manager| manager.notify("STOPPING=1"));
    }
}
