//! Instructions per packet, counted by callgrind.

use super::graphs::{Fed, Way, carried};
use super::peers::C;
use crate::instructions::{each, own, valgrind};

/// Passes of the two runs.
const PASSES: (u64, u64) = (1, 4);

/// Instructions per packet of a graph, from source to sink.
///
/// # Errors
/// The process fails.
pub fn of_graph(way: Way<'_>, fed: Fed) -> Result<f64, String> {
    let (kind, name) = match way {
        Way::Link => ("link", ""),
        Way::Kernel(name) => ("kernel", name),
        Way::Component(file) => ("component", file),
    };
    let [packets, seed] = [u64::from(fed.packets), fed.seed].map(|number| number.to_string());
    let all =
        each(PASSES, |passes| own(&["kernels", kind, name, &packets, &seed, &passes.to_string()]))?;
    Ok(all / f64::from(fed.packets))
}

/// Instructions per packet of a kernel in C, from the trace to the reader.
///
/// # Errors
/// The process fails.
pub fn of_c(c: &C, kernel: u32, packets: u32) -> Result<f64, String> {
    let all = each(PASSES, |passes| {
        let mut command = valgrind();
        c.command(&mut command, kernel, passes);
        Ok(command)
    })?;
    Ok(all / f64::from(packets))
}

/// The process that is counted: `kernel NAME PACKETS SEED PASSES` and so on.
///
/// # Errors
/// Other arguments, or the graph does not run.
pub fn measure(arguments: &[String]) -> Result<(), String> {
    let wrong = || format!("kernels is not measured with {arguments:?}");
    let [kind, name, packets, seed, passes] = arguments else { return Err(wrong()) };
    let way = match kind.as_str() {
        "link" => Way::Link,
        "kernel" => Way::Kernel(name),
        "component" => Way::Component(name),
        _ => return Err(wrong()),
    };
    let packets = packets.parse().map_err(|_| wrong())?;
    let seed = seed.parse().map_err(|_| wrong())?;
    carried(way, Fed { packets, seed }, passes.parse().map_err(|_| wrong())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_processes_are_refused() {
        let refused = ["kernel", "Nothing", "300", "1", "x"].map(str::to_owned);
        assert!(measure(&refused).is_err_and(|text| text.contains("\"x\"")));
        let carried = ["kernel", "Nothing", "300", "1", "1"].map(str::to_owned);
        assert_eq!(measure(&carried), Ok(()));
    }
}
