use std::process::ExitCode;

fn main() -> ExitCode {
    deltafs::cli::main()
}
