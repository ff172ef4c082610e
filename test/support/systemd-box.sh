#!/usr/bin/env bash
# A machine with a real systemd as PID 1, in separate namespaces, on a copy-on-write view of this machine's files. All that
# it writes is in a tmpfs, which is there for all boots, and vanishes at the end. (systemd must never boot outside of this:
# it empties the machine's /tmp.)
# usage: systemd-box.sh FOLDER NODE PACKAGE     reads commands from standard input until its end:
#   boot   starts systemd, prints "booted PID"   ("ended" when it has ended)
#   cut    takes the power away
set -eu
box=$1 node=$2 package=$3
root=$box/root

# The disk, and what is installed on it: Node and procman, as by a version manager.
disk() {
  mount --make-rprivate /
  mkdir -p "$box/fs" "$root"
  mount -t tmpfs tmpfs "$box/fs"
  mkdir -p "$box/fs/upper" "$box/fs/work"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$box/fs/upper,workdir=$box/fs/work" "$root"
  ip link set lo up 2>/dev/null || true
  local home=$root/opt/nvm/versions/node/$("$node" --version)
  mkdir -p "$home/bin" "$home/lib/node_modules/procman"
  cp "$node" "$home/bin/node"
  cp -r "$package/dist" "$package/package.json" "$package/schema.json" "$home/lib/node_modules/procman/"
  ln -s ../lib/node_modules/procman/dist/procman.cjs "$home/bin/procman"
  chown -R 0:0 "$root/opt/nvm"
  rm -rf "$root/etc/systemd/system/"*.wants "$root/etc/systemd/user/"*.wants
  # The terminals are those of this machine.
  ln -sf /dev/null "$root/etc/systemd/system/getty.target"
  printf '[Unit]\nRequires=basic.target systemd-journald.service\nAfter=basic.target\nWants=multi-user.target\nAllowIsolate=yes\n' >"$root/etc/systemd/system/box.target"
}

# PID 1 of the machine.
first() {
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys" 2>/dev/null || mount --rbind /sys "$root/sys"
  mount -t tmpfs tmpfs "$root/run"
  mount -t tmpfs tmpfs "$root/tmp"
  # The checkout may be below /tmp.
  mkdir -p "$root/run/lock" "$root/srv/checkout"
  mount --bind -o ro "$(dirname "$0")/../.." "$root/srv/checkout"
  mount --rbind /dev "$root/dev"
  if ! mountpoint -q "$root/sys/fs/cgroup"; then
    if grep -q '^0::' /proc/self/cgroup && [ "$(wc -l </proc/self/cgroup)" = 1 ]; then mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"; else mount -t tmpfs tmpfs "$root/sys/fs/cgroup"; fi
  fi
  if [ "$(stat -fc %T "$root/sys/fs/cgroup")" != cgroup2fs ]; then
    mkdir -p "$root/sys/fs/cgroup/unified" "$root/sys/fs/cgroup/systemd" 2>/dev/null || true
    mountpoint -q "$root/sys/fs/cgroup/unified" || mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"
    mountpoint -q "$root/sys/fs/cgroup/systemd" || mount -t cgroup -o none,name=systemd,xattr systemd "$root/sys/fs/cgroup/systemd"
  fi
  exec env -i container=systemd-box PATH="$PATH" chroot "$root" /lib/systemd/systemd --system --unit=box.target --log-target=journal --show-status=0
}

if [ "${SYSTEMD_BOX:-}" = first ]; then first; fi
if [ "${SYSTEMD_BOX:-}" != disk ]; then SYSTEMD_BOX=disk exec unshare --mount --uts --ipc --net "$0" "$@"; fi
disk
machine=
trap 'if [ -n "$machine" ]; then kill -9 "$machine" 2>/dev/null || true; wait "$machine" 2>/dev/null || true; fi; umount -R "$root" 2>/dev/null || true; umount "$box/fs"; rm -rf --one-file-system "$box"' EXIT
while read -r command; do
  case $command in
  boot)
    SYSTEMD_BOX=first unshare --pid --mount --cgroup --fork --kill-child "$0" "$@" </dev/null >"$box/console" 2>&1 &
    machine=$!
    until first=$(cat "/proc/$machine/task/$machine/children") && [ -n "$first" ]; do sleep 0.01; done
    echo "booted ${first%% *}"
    ;;
  cut)
    kill -9 "$machine" 2>/dev/null || true
    wait "$machine" 2>/dev/null || true
    machine=
    echo ended
    ;;
  esac
done
