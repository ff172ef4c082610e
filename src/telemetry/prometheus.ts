/** Prometheus' text format, version 0.0.4. */

export type Labels = Readonly<Record<string, string>>;

export type Family = {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly values: readonly (readonly [Labels, number | undefined])[];
};

/** Families without a value are left out. */
export function expose(families: readonly Family[]): string {
  return families.map(familyText).join("");
}

/** A name of somebody else as a part of a metric's name. */
export function metricName(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replace(/[^a-zA-Z\d_]+/g, "_")
    .toLowerCase()
    .slice(0, 100);
}

function familyText({ name, type, help, values }: Family): string {
  const lines = values.flatMap(([labels, value]) => (value === undefined ? [] : [`${name}${labelText(labels)} ${number(value)}\n`]));
  if (lines.length === 0) return "";
  return `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function number(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? String(value) : value > 0 ? "+Inf" : "-Inf";
}
