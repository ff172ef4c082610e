import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler";
import { CronJob } from "kubernetes-models/batch/v1/CronJob";
import { Job } from "kubernetes-models/batch/v1/Job";
import { Service } from "kubernetes-models/v1/Service";
import { parseAllDocuments } from "yaml";
import { exported, fileOf } from "../../../../test/support/export-rig.ts";

type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Tree;
};
// biome-ignore lint/suspicious/noExplicitAny: parsed YAML, read member by member
type Tree = any;

type Model = { readonly prototype: { validate(): void }; new (data: never): { validate(): void } };
const MODELS: Readonly<Record<string, Model>> = {
  "apps/v1 Deployment": Deployment,
  "batch/v1 Job": Job,
  "batch/v1 CronJob": CronJob,
  "v1 Service": Service,
  "autoscaling/v2 HorizontalPodAutoscaler": HorizontalPodAutoscaler,
};

function manifests(config?: unknown): readonly Manifest[] {
  const documents = parseAllDocuments(fileOf(exported("kubernetes", config), "kubernetes.yaml"));
  return documents.map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS() as Manifest;
  });
}

/** Checks against the schema of Kubernetes, which asks an object for each member that it knows: the others are unknown. */
function validate(manifest: Manifest): void {
  const Model = MODELS[`${manifest.apiVersion} ${manifest.kind}`];
  if (Model === undefined) assert.fail(`${manifest.apiVersion} ${manifest.kind} is not expected`);
  new Model(manifest as never).validate();
  const unknown: string[] = [];
  const watched = watch(manifest, "", unknown);
  Model.prototype.validate.call(watched.value);
  watched.end();
  assert.deepEqual(unknown, [], `${manifest.metadata.name} has members that Kubernetes doesn't know`);
}

function watch(value: Tree, path: string, unknown: string[]): { readonly value: Tree; readonly end: () => void } {
  if (typeof value !== "object" || value === null) return { value, end: () => undefined };
  const asked = new Set<string>();
  const members = new Map(Object.keys(value).map((name) => [name, watch(value[name], `${path}/${name}`, unknown)]));
  const proxy = new Proxy(value, {
    get: (target, name) => {
      if (typeof name === "string") asked.add(name);
      return typeof name === "string" && members.has(name) ? members.get(name)?.value : Reflect.get(target, name);
    },
  });
  const end = (): void => {
    for (const name of Object.keys(value))
      if (!Array.isArray(value) && !asked.has(name)) unknown.push(`${path}/${name}`);
    for (const member of members.values()) member.end();
  };
  return { value: proxy, end };
}

test("every manifest is valid for the schema of Kubernetes, without unknown members", () => {
  const all = manifests();
  assert.deepEqual(
    all.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    [
      "Deployment db",
      "Job migrate",
      "Deployment web",
      "Deployment mail",
      "CronJob report",
      "Job clean",
      "Service db",
      "Service web",
    ],
  );
  all.forEach(validate);
});

test("the check finds what Kubernetes doesn't know, and wrong types", () => {
  const [deployment] = manifests({ processes: [{ id: "web", cmd: "node server.js", autostart: true }] });
  if (deployment === undefined) assert.fail("no manifest");
  assert.throws(() => validate({ ...deployment, spec: { ...deployment.spec, replica: 2 } }), /\/spec\/replica/);
  assert.throws(() => validate({ ...deployment, spec: { ...deployment.spec, replicas: "2" } }), /replicas/);
});

test("checks become probes, times of stops the grace period, limits the limits, and a user the security context", () => {
  const all = manifests();
  const pod = (name: string): Tree => all.find(({ metadata }) => metadata.name === name)?.spec.template.spec;
  const [db] = pod("db").containers;
  assert.deepEqual(
    [db.startupProbe.periodSeconds * db.startupProbe.failureThreshold, db.livenessProbe.periodSeconds],
    [10, 5],
  );
  assert.deepEqual(db.livenessProbe.exec.command, ["/bin/sh", "-c", "redis-cli -p 7000 ping"]);
  assert.deepEqual(db.startupProbe.tcpSocket, { port: 7000 });
  const [web] = pod("web").containers;
  assert.deepEqual(web.readinessProbe.httpGet, {
    path: "/health",
    port: 3001,
    httpHeaders: [{ name: "Host", value: "127.0.0.1:3001" }],
  });
  assert.deepEqual(db.resources.limits, { memory: "256000000", cpu: "1500m" });
  assert.equal(pod("web").terminationGracePeriodSeconds, 5);
  assert.deepEqual(
    [pod("mail").terminationGracePeriodSeconds, pod("mail").containers[0].lifecycle.preStop.exec.command],
    [33, ["sleep", "3"]],
  );
  assert.deepEqual(pod("clean").securityContext, { runAsUser: 1234, runAsGroup: 1234 });
  assert.deepEqual(pod("migrate").initContainers[0].command, [
    "bash",
    "-c",
    "until </dev/tcp/db/7000; do sleep 1; done",
  ]);
});

test("schedules become CronJobs, tasks Jobs, processes that are started by hand suspended Jobs", () => {
  const all = manifests();
  const specOf = (name: string): Tree => all.find(({ metadata }) => metadata.name === name)?.spec;
  const { schedule, timeZone, concurrencyPolicy, startingDeadlineSeconds, jobTemplate } = specOf("report");
  assert.deepEqual(
    [schedule, timeZone, concurrencyPolicy, startingDeadlineSeconds],
    ["0 3 * * 1-5", "Europe/Berlin", "Forbid", undefined],
  );
  assert.equal(jobTemplate.spec.activeDeadlineSeconds, 600);
  assert.deepEqual([specOf("migrate").backoffLimit, specOf("migrate").template.spec.restartPolicy], [0, "Never"]);
  assert.deepEqual([specOf("clean").suspend, specOf("migrate").suspend], [true, undefined]);
});

test("only a cluster is updated instance by instance; another process never runs twice, and its Service has its port", () => {
  const all = manifests();
  const specOf = (kind: string, name: string): Tree =>
    all.find((each) => each.kind === kind && each.metadata.name === name)?.spec;
  assert.deepEqual(
    [specOf("Deployment", "web").replicas, specOf("Deployment", "web").strategy.type],
    [2, "RollingUpdate"],
  );
  assert.equal(specOf("Deployment", "db").strategy.type, "Recreate");
  assert.deepEqual(specOf("Service", "web").ports, [{ name: "common", port: 3000, targetPort: 3001 }]);
  assert.deepEqual(specOf("Service", "db").ports, [{ name: "port-7000", port: 7000, targetPort: 7000 }]);
  const selected = specOf("Service", "web").selector["app.kubernetes.io/component"];
  assert.equal(specOf("Deployment", "web").template.metadata.labels["app.kubernetes.io/component"], selected);
});

const SCALED = {
  id: "web",
  cmd: "node server.js",
  autostart: true,
  cluster: { instances: 2, startPort: 3001, commonPort: 3000 },
  scale: {
    min: 2,
    max: 8,
    targets: { cpu: 70, connections: 40, "metric:queue": 2.5 },
    step: 2,
    schedules: [{ cron: "0 8 * * *", min: 4 }],
  },
};

test("a cluster with scale becomes a HorizontalPodAutoscaler, whose Deployment has no fixed number; what is lost is told", () => {
  const config = { processes: [SCALED] };
  const all = manifests(config);
  all.forEach(validate);
  const scaler = all.find(({ kind }) => kind === "HorizontalPodAutoscaler");
  assert.deepEqual(scaler?.spec, {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    minReplicas: 2,
    maxReplicas: 8,
    metrics: [
      { type: "Resource", resource: { name: "cpu", target: { type: "AverageValue", averageValue: "700m" } } },
      { type: "Pods", pods: { metric: { name: "queue" }, target: { type: "AverageValue", averageValue: "2500m" } } },
    ],
    behavior: {
      scaleUp: { stabilizationWindowSeconds: 10, policies: [{ type: "Pods", value: 2, periodSeconds: 10 }] },
      scaleDown: { stabilizationWindowSeconds: 300, policies: [{ type: "Pods", value: 2, periodSeconds: 300 }] },
    },
  });
  assert.equal(all.find(({ kind }) => kind === "Deployment")?.spec.replicas, undefined);
  const notes = exported("kubernetes", config).notes.map(({ field, text }) => `${field}: ${text}`);
  for (const note of [
    /^scale\.targets: .*connections and waiting are left out/,
    /^scale\.targets: metric:queue: an adapter/,
    /^scale\.schedules:/,
  ])
    assert.ok(
      notes.some((text) => note.test(text)),
      notes.join("\n"),
    );
});

test("a cluster that scales by its connections alone keeps its number: without a metric Kubernetes would choose one", () => {
  const all = manifests({ processes: [{ ...SCALED, scale: { targets: { connections: 40 } } }] });
  assert.ok(!all.some(({ kind }) => kind === "HorizontalPodAutoscaler"));
  assert.equal(all.find(({ kind }) => kind === "Deployment")?.spec.replicas, 2);
});
