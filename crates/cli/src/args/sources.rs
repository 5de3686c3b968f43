//! Where programs and schemas come from.

use std::path::PathBuf;

use clap::Args;
use tidemill::program::LoadOptions;

use super::values::Define;

/// Where a program comes from.
#[derive(Args, Clone, Debug)]
pub struct Sources {
    /// Source files, which form one program: .olg rules, .com or .cl components, .flow packet
    /// graphs, .proto or .fds schemas; or a folder, whose sources form it
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Define a macro before the first file is read
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub defines: Vec<Define>,
    /// Also look for included files in DIR
    #[arg(short = 'I', value_name = "DIR")]
    pub includes: Vec<PathBuf>,
}

impl Sources {
    /// The options of loading: macros and folders.
    pub fn loading(&self) -> LoadOptions {
        let defines = self.defines.iter().map(|define| format!("{}={}", define.name, define.value));
        let (defines, include_dirs) = (defines.collect(), self.includes.clone());
        LoadOptions { defines, include_dirs, ..LoadOptions::default() }
    }
}

/// Where a schema comes from.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// Files of the schema: .proto texts, .fds sets of descriptors
    #[arg(long = "schema", required = true, num_args = 1.., value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Look for imported files in DIR; by default in the current folder and beside the files
    #[arg(short = 'I', value_name = "DIR")]
    pub includes: Vec<PathBuf>,
}
