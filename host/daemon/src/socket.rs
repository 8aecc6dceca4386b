//! The daemon's socket: 0600 from birth, answering to its owner only.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use tokio::net::{UnixListener, UnixStream};

use crate::{DaemonError, limits::MAX_SOCKET_PATH_BYTES, lock::InstanceLock};

/// Where the daemon of a home listens.
pub fn socket_path(home: &Path) -> PathBuf {
    home.join("server.sock")
}

/// A listening socket; its file goes when this is dropped.
pub(crate) struct Socket {
    listener: UnixListener,
    /// Of its file. As long as the listener lives, no other file gets the same.
    inode: Inode,
    home: PathBuf,
    /// It was removed, and could not be put back.
    is_lost: bool,
    /// Held for as long as the file stands, so that no two daemons touch it.
    lock: InstanceLock,
}

/// Device and number.
type Inode = (u64, u64);

impl Socket {
    /// Listens on the home's socket, in the place of one that an ended daemon left behind.
    pub(crate) fn bind(home: &Path, lock: InstanceLock) -> Result<Self, DaemonError> {
        let (listener, inode) = listen(home)?;
        Ok(Self { listener, inode, home: home.to_owned(), is_lost: false, lock })
    }

    /// Puts the socket back when somebody removed it; clients that are connected do not notice.
    pub(crate) fn keep(&mut self) {
        if self.is_in_place() || self.lock.is_replaced() {
            return;
        }
        match listen(&self.home) {
            Ok((listener, inode)) => {
                tracing::warn!("the socket was removed; there is a new one");
                (self.listener, self.inode, self.is_lost) = (listener, inode, false);
            }
            Err(_) if self.is_lost => {}
            Err(error) => {
                self.is_lost = true;
                let error: &(dyn std::error::Error + 'static) = &error;
                tracing::warn!(error, "the socket was removed and cannot be put back yet");
            }
        }
    }

    fn is_in_place(&self) -> bool {
        inode(&socket_path(&self.home)).is_ok_and(|found| found == self.inode)
    }

    /// Waits for the next client of this user, or of root.
    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let uid = stream.peer_cred()?.uid();
            if uid == 0 || uid == rustix::process::geteuid().as_raw() {
                return Ok(stream);
            }
            tracing::warn!(uid, "refused a connection of another user");
        }
    }
}

/// Makes the socket's file, in the place of one that nobody serves any more.
///
/// `bind` creates the file with the umask's mode, and the umask belongs to the whole
/// process. So the socket is born in a folder that nobody else can enter, gets its mode
/// there, and is renamed into its place: under its own name it was never more than 0600.
fn listen(home: &Path) -> Result<(UnixListener, Inode), DaemonError> {
    let path = socket_path(home);
    let length = path.as_os_str().as_bytes().len();
    if length > MAX_SOCKET_PATH_BYTES {
        return Err(DaemonError::SocketPath { length });
    }
    if fs::symlink_metadata(&path).is_ok_and(|found| !found.file_type().is_socket()) {
        return Err(DaemonError::SocketTaken { path });
    }
    let nursery = home.join(".bind");
    let born = born_private(&nursery, &path);
    let _ = fs::remove_dir_all(&nursery);
    born.map_err(DaemonError::io("creating the socket"))
}

fn inode(path: &Path) -> io::Result<Inode> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// Binds inside `nursery` and moves the socket to `path`. The name is shorter than
/// `server.sock`, so it fits wherever that one does.
fn born_private(nursery: &Path, path: &Path) -> io::Result<(UnixListener, Inode)> {
    match fs::remove_dir_all(nursery) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    DirBuilder::new().mode(0o700).create(nursery)?;
    let born = nursery.join("s");
    let listener = UnixListener::bind(&born)?;
    fs::set_permissions(&born, Permissions::from_mode(0o600))?;
    let inode = inode(&born)?;
    fs::rename(&born, path)?;
    Ok((listener, inode))
}

impl Drop for Socket {
    fn drop(&mut self) {
        // One that is not ours is somebody else's.
        if !self.is_in_place() {
            return;
        }
        if let Err(error) = fs::remove_file(socket_path(&self.home)) {
            tracing::debug!(%error, "the socket's file could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn bind(home: &Path) -> Result<Socket, DaemonError> {
        Socket::bind(home, InstanceLock::acquire(home).await?)
    }

    #[tokio::test]
    async fn it_is_private_answers_and_goes() {
        let dir = tempfile::tempdir().unwrap();
        let socket = bind(dir.path()).await.unwrap();
        let path = socket_path(dir.path());
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let (client, server) = tokio::join!(UnixStream::connect(&path), socket.accept());
        client.unwrap();
        server.unwrap();
        drop(socket);
        assert!(!path.exists());
        assert!(!dir.path().join(".bind").exists());
    }

    #[tokio::test]
    async fn a_socket_left_behind_is_replaced_but_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = socket_path(dir.path());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "std leaves the file, as a killed daemon does");
        drop(bind(dir.path()).await.unwrap());

        fs::write(&path, "precious").unwrap();
        assert!(matches!(bind(dir.path()).await, Err(DaemonError::SocketTaken { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }

    #[tokio::test]
    async fn a_path_that_does_not_fit_is_refused_with_its_length() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("x".repeat(MAX_SOCKET_PATH_BYTES));
        crate::home::prepare_home(&home).unwrap();
        let text = bind(&home).await.err().unwrap().to_string();
        let length = home.as_os_str().len() + "/server.sock".len();
        assert!(text.contains(&format!("{length} bytes")), "{text}");
    }

    #[tokio::test]
    async fn the_longest_path_that_fits_is_served() {
        let dir = tempfile::tempdir().unwrap();
        let room = MAX_SOCKET_PATH_BYTES - dir.path().as_os_str().len() - "//server.sock".len();
        let home = dir.path().join("x".repeat(room));
        crate::home::prepare_home(&home).unwrap();
        bind(&home).await.unwrap();
    }

    #[tokio::test]
    async fn one_that_was_removed_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let mut socket = bind(dir.path()).await.unwrap();
        let path = socket_path(dir.path());
        socket.keep();
        let first = socket.inode;
        fs::remove_file(&path).unwrap();
        socket.keep();
        assert_ne!(socket.inode, first);
        let (client, server) = tokio::join!(UnixStream::connect(&path), socket.accept());
        client.unwrap();
        server.unwrap();
    }

    #[tokio::test]
    async fn what_another_put_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = socket_path(dir.path());
        let mut socket = bind(dir.path()).await.unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        socket.keep();
        drop(socket);
        assert_eq!(fs::read(&path).unwrap(), b"precious");

        fs::remove_file(&path).unwrap();
        let mut first = bind(dir.path()).await.unwrap();
        fs::remove_file(dir.path().join("server.lock")).unwrap();
        let second = bind(dir.path()).await.unwrap();
        first.keep();
        drop(first);
        assert!(second.is_in_place(), "a daemon whose lock was replaced leaves the home alone");
    }
}
