//! A few inputs for each of these doors, for Miri (`.ci/miri`): `few COUNT TARGET…`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let count = given.next().and_then(|count| count.parse().ok()).unwrap_or(1);
    for name in given {
        let Some(target) = tapster_fuzz::find(&name) else {
            eprintln!("there is no target `{name}`");
            return ExitCode::from(2);
        };
        match tapster_fuzz::run_mutations(target, 17, count, target.run) {
            Ok(taken) => println!("{name}: {taken} of {count} inputs taken"),
            Err((input, why)) => {
                println!("{name}: {why}: {}", String::from_utf8_lossy(&input));
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
