//! Circles: what needs itself, directly or through others.

/// A circle among numbered things.
pub(crate) struct Circle<E> {
    /// Its members, each of which needs the next one; the last one needs the first one.
    pub(crate) members: Vec<usize>,
    /// By what the last one needs the first one.
    pub(crate) closed_by: E,
}

/// How far a member has been looked at.
#[derive(Clone, Copy, PartialEq)]
enum Progress {
    Unseen,
    OnTheWay,
    Done,
}

/// The circles among so many things, found from the first one on. `needs` gives what one needs, and by what.
pub(crate) fn circles<E>(count: usize, needs: impl Fn(usize) -> Vec<(usize, E)>) -> Vec<Circle<E>> {
    let mut progress = vec![Progress::Unseen; count];
    let mut found = Vec::new();
    for root in 0..count {
        if progress.get(root) != Some(&Progress::Unseen) {
            continue;
        }
        set(&mut progress, root, Progress::OnTheWay);
        let mut open = vec![(root, needs(root).into_iter())];
        while let Some((at, rest)) = open.last_mut() {
            let Some((next, by)) = rest.next() else {
                set(&mut progress, *at, Progress::Done);
                open.pop();
                continue;
            };
            match progress.get(next) {
                Some(Progress::Unseen) => {
                    set(&mut progress, next, Progress::OnTheWay);
                    open.push((next, needs(next).into_iter()));
                }
                Some(Progress::OnTheWay) => {
                    let members = open.iter().map(|(member, _)| *member).skip_while(|member| *member != next).collect();
                    found.push(Circle { members, closed_by: by });
                }
                Some(Progress::Done) | None => {}
            }
        }
    }
    found
}

fn set(progress: &mut [Progress], member: usize, to: Progress) {
    if let Some(of) = progress.get_mut(member) {
        *of = to;
    }
}
