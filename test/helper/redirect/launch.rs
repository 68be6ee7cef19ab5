// launch.c in Rust, whose standard library calls libc without a PLT: launch HOW DIR PROGRAM [ARGUMENTS].
//
// The environment of the child contains only LD_LIBRARY_PATH. spawn: posix_spawn. fork: fork, replace environ, execvp.
// exec: replace environ, execvp in this process.
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
