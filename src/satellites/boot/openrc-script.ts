/** A service script of OpenRC. */
import { type BootPlan, headOf, shellWord } from "./boot-plan.ts";
import { type BootRecord, unitName } from "./boot-record.ts";

/** OpenRC takes the name of another script up to a dot, and no script with a name like `x.sh`. */
export function openrcPlan(record: BootRecord, launcher: string): BootPlan {
  const unit = unitName(record).replaceAll(".", "_");
  return {
    unit,
    files: [{ path: `/etc/init.d/${unit}`, text: scriptText(record, launcher), mode: 0o755 }],
    enable: [["rc-update", "add", unit, "default"]],
    start: [["rc-service", unit, "start"]],
    disable: [
      ["rc-service", unit, "stop"],
      ["rc-update", "del", unit, "default"],
    ],
    hint: `sudo rc-service ${unit} stop`,
  };
}

function scriptText(record: BootRecord, launcher: string): string {
  const { name, user } = record;
  return `#!/sbin/openrc-run
${headOf(record, launcher)}
name="procman ${name}"
description="Processes of procman ${name}"
supervisor=supervise-daemon
command=/bin/sh
command_args=${shellWord(`${launcher} run --guarded`)}
command_user=${shellWord(user)}
retry="TERM/600/KILL/5"
respawn_delay=1
respawn_max=0
output_log="/var/log/\${RC_SVCNAME}.log"
error_log="/var/log/\${RC_SVCNAME}.log"
extra_started_commands="reload"
description_reload="Applies the changed configuration file"

depend() {
	use net logger dns
	after bootmisc
}

start_pre() {
	checkpath --file --mode 0640 --owner "$command_user" "/var/log/\${RC_SVCNAME}.log"
}

reload() {
	ebegin "Reloading $name"
	${user === "root" ? "" : `su -s /bin/sh ${shellWord(user)} -c `}${user === "root" ? `/bin/sh ${shellWord(launcher)} reload` : shellWord(`/bin/sh ${launcher} reload`)}
	eend $?
}
`;
}
