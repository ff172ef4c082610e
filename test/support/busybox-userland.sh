# Runs a command in a machine whose programs are busybox's applets and node alone, as on Alpine. In a mount namespace: `unshare --mount`.
# usage: busybox-userland.sh APPLETS NODE COMMAND [ARGUMENT…]     APPLETS: a folder with links to busybox, and an empty file `node`
set -e
applets=$1 node=$2
shift 2
mount --bind "$node" "$applets/node"
mkdir -p "$applets/none"
for folder in /usr/local/sbin /usr/local/bin /usr/sbin; do mount --bind "$applets/none" "$folder"; done
for folder in /bin /sbin; do [ -L "$folder" ] || { echo "$folder is not a link into /usr" >&2; exit 1; }; done
mount --rbind "$applets" /usr/bin
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec "$@"
