/** What to do about fields of compose without an equal. */
import type { AdviceTable } from "./foreign-fields.ts";

const CONTAINER = "is a setting of the container: the program runs on this host";
const NETWORK = "all programs see the network of this host: services reach each other at 127.0.0.1";
const FILES = "all programs see the files of this host: check the paths in the program's settings";
const SECRET = '"env": { "NAME": { "file": "/run/secrets/name" } } gives a program the content of a file: docs/guide/environment.md';
const SANDBOX = "procman has no sandbox; under systemd its unit can have one for all processes";
const HOOK = 'commands before a start and after an end are "hooks": docs/guide/hooks.md';

const same = (advice: string, names: string): AdviceTable => Object.fromEntries(names.split(" ").map((name) => [name, advice]));

export const COMPOSE_ADVICE: AdviceTable = {
  ...same(
    CONTAINER,
    "container_name hostname domainname init tty stdin_open platform isolation runtime pid ipc shm_size sysctls devices device_cgroup_rules cgroup cgroup_parent userns_mode gpus",
  ),
  ...same(NETWORK, "networks network_mode links external_links expose dns dns_opt dns_search extra_hosts mac_address"),
  ...same(FILES, "volumes volumes_from tmpfs"),
  ...same(SECRET, "secrets configs credential_spec"),
  ...same(SANDBOX, "privileged cap_add cap_drop security_opt read_only group_add"),
  ...same(HOOK, "post_start pre_stop"),
  ...same("", "labels annotations attach pull_policy restart image ports platform build"),
  ...same(
    'limits are "memoryMax", "cpuQuota" and "ulimits": docs/guide/limits.md',
    "mem_reservation memswap_limit mem_swappiness cpu_shares cpu_quota cpu_period cpu_count cpu_percent cpuset pids_limit blkio_config oom_kill_disable",
  ),
  extends: "is a service of another file: write its fields here",
};

export const COMPOSE_TOP_ADVICE: AdviceTable = {
  version: "",
  networks: NETWORK,
  volumes: FILES,
  secrets: SECRET,
  configs: SECRET,
  include: "import these files, too: `procman import` takes several",
};
