//! What options require of each other: names that exist, values that they can have, no circles, and defaults that fit.

use std::collections::HashMap;

use super::{OptionReader, near, of_fault};
use crate::diag::{Code, Diagnostic};
use crate::model::{OptionCondition, PackOption, PackOptions, Value};

pub(super) fn check(options: &PackOptions, reader: &mut OptionReader<'_>) {
    let before = reader.told;
    for option in options.iter() {
        let own = option.requires.iter().chain(&option.conflicts);
        let of_choices = option.choices.iter().flat_map(|choice| choice.requires.iter().chain(&choice.conflicts));
        own.chain(of_choices).for_each(|need| one(options, option, need, reader));
        let both = option.requires.iter().find(|need| option.conflicts.contains(&OptionCondition { span: need.span, ..(*need).clone() }));
        let both = both.or_else(|| {
            let same =
                |need: &&OptionCondition| option.conflicts.iter().any(|other| other.option == need.option && other.values == need.values);
            option.requires.iter().find(same)
        });
        if let Some(need) = both {
            let message = format!("option `{}` both requires `{}` and conflicts with it", option.name, need.option);
            reader.complain(Diagnostic::new(Code::OptionRequires, message).at(need.span).help("keep one of them"));
        }
    }
    if reader.told > before {
        return;
    }
    circles(options, reader);
    if reader.told > before {
        return;
    }
    for fault in options.unfit(&options.values(&Value::Null)) {
        let span = options.get(&fault.option).map(|option| option.value_span);
        let complaint = of_fault(fault);
        reader.complain(match span {
            Some(span) => complaint.at(span).label("this value"),
            None => complaint,
        });
    }
}

fn one(options: &PackOptions, option: &PackOption, need: &OptionCondition, reader: &mut OptionReader<'_>) {
    if need.option == option.name {
        let message = format!("option `{}` depends on itself", option.name);
        reader.complain(Diagnostic::new(Code::OptionRequires, message).at(need.span).help("name another option"));
        return;
    }
    let Some(other) = options.get(&need.option) else {
        let message = format!("there is no option `{}`", need.option);
        reader.complain(Diagnostic::new(Code::OptionUnknown, message).at(need.span).help(near(
            &need.option,
            options,
            &reader.report.words,
        )));
        return;
    };
    for fault in need.values.iter().filter_map(|value| other.refuses(value)) {
        let message = format!("this can never hold: {}", fault.message);
        reader.complain(Diagnostic::new(Code::OptionValue, message).at(need.span).help(fault.help));
    }
}

/// Reports options that require each other in a circle: a user could turn none of them on alone.
fn circles(options: &PackOptions, reader: &mut OptionReader<'_>) {
    // 1: on the way, 2: done
    let mut state: HashMap<&str, u8> = HashMap::new();
    for first in options.iter() {
        let mut open = vec![(first, 0_usize)];
        while let Some((option, at)) = open.pop() {
            if at == 0 && state.get(&*option.name).is_some_and(|seen| *seen == 2) {
                continue;
            }
            state.insert(&option.name, 1);
            let Some(need) = option.requires.get(at) else {
                state.insert(&option.name, 2);
                continue;
            };
            open.push((option, at + 1));
            let Some(next) = options.get(&need.option) else { continue };
            match state.get(&*next.name) {
                Some(1) => {
                    let mut names: Vec<&str> = open.iter().map(|(open, _)| &*open.name).skip_while(|name| *name != &*next.name).collect();
                    names.push(&next.name);
                    let message = format!("options require each other in a circle: {}", names.join(" → "));
                    let complaint = Diagnostic::new(Code::OptionRequires, message).at(need.span).label("closes the circle");
                    reader.complain(complaint.help("make one option of them, or remove one of the requirements"));
                }
                Some(2) => {}
                _ => open.push((next, 0)),
            }
        }
    }
}
