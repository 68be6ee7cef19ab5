// launch.c in Rust, whose library calls libc without a PLT: launch HOW DIR PROGRAM [ARGUMENTS].
//
// LD_LIBRARY_PATH is all of the environment.  spawn: posix_spawn; fork: fork and execvp, with environ exchanged;
// exec: execvp in this process.
use std::os::unix::process::CommandExt;
use std::process::{exit, Command};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut command = Command::new(&args[3]);
    command.args(&args[4..]).env_clear().env("LD_LIBRARY_PATH", &args[2]);
    match args[1].as_str() {
        "exec" => {
            eprintln!("{}", command.exec());
            exit(1)
        }
        "fork" => {
            unsafe { command.pre_exec(|| Ok(())) };
        }
        _ => {}
    }
    exit(command.status().expect("start").code().unwrap_or(1))
}
