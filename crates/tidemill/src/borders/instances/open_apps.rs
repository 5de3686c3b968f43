//! The apps of the type `Outside` that components have opened at the first worker, as seen by
//! another one.

use tidemill_stdx::sorted::SortedMap;

/// Apps that components of the first worker have opened, at another one, with the number of packets
/// that are under way.
#[derive(Default)]
pub(crate) struct OpenApps(SortedMap<String, usize>);

impl OpenApps {
    /// The apps, each with the number of its packets.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut usize)> {
        self.0.iter_mut()
    }

    /// A component has opened an app.
    pub(crate) fn open(&mut self, app: String) {
        self.0.entry(app).or_default();
    }

    /// The last component has closed an app.
    pub(crate) fn close(&mut self, app: &str) {
        self.0.remove(app);
    }

    /// Components have taken a number of packets.
    pub(crate) fn taken(&mut self, app: &str, count: usize) {
        if let Some(under_way) = self.0.get_mut(app) {
            *under_way = under_way.saturating_sub(count);
        }
    }
}
