//! The streams of the process, for servers that read and write them in threads of their own.

/// Standard input and output beside the locks that the console holds.
#[cfg(unix)]
pub(crate) fn own_streams() -> std::io::Result<(std::fs::File, std::fs::File)> {
    use std::os::fd::AsFd;
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    Ok((input.into(), std::io::stdout().as_fd().try_clone_to_owned()?.into()))
}

/// Standard input and output beside the locks that the console holds.
#[cfg(windows)]
pub(crate) fn own_streams() -> std::io::Result<(std::fs::File, std::fs::File)> {
    use std::os::windows::io::AsHandle;
    let input = std::io::stdin().as_handle().try_clone_to_owned()?;
    Ok((input.into(), std::io::stdout().as_handle().try_clone_to_owned()?.into()))
}
