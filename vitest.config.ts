import { defineConfig } from "vitest/config";

// A machine with other work takes four times as long: no test has a shorter limit of its own.
const patience = { testTimeout: 120_000, hookTimeout: 180_000, expect: { poll: { timeout: 60_000 } } };

// Every answer of the API that any test gets is held against openapi.json.
const setupFiles = ["test/support/openapi/setup.ts"];

/**
 * Long and seldom red: pages in a browser, guides and examples as people run them, the packed client, random requests,
 * a restored database, an api whose clock is wrong, the start of `npm run worker`, an app's own objects beside ours,
 * the slow receivers of hundreds of owners, a minute of claims in simulated time.
 */
const SLOW_STACK = [
  "test/e2e/{client,dashboard-*,example-*,quickstart,stored-types}.test.ts",
  "test/api/{fuzz,reference-examples}.test.ts",
  "test/faults/{api-wrong-clock,restore,worker-process-start}.test.ts",
  "test/db/schema/beside-an-app.test.ts",
  "test/db/work/capacity-simulation.test.ts",
];
/** The local stack itself, a film joined in a browser, hooks, the functions on the hosted platform's Deno. */
const SLOW_UNITS = ["test/unit/{local/*,client/{film,react},**/hosted-*}.test.ts"];

// A process of its own for each of 200 files took a tenth of the whole run. No file leaves a mock, a timer or a server behind.
const project = (name: string, include: string[], more: object = {}) => ({
  test: { name, include, setupFiles, isolate: false, ...patience, ...more },
});
const tests = (folders: string) => [`test/${folders}/**/*.test.ts`];
const stackSetup = { globalSetup: ["test/support/stack/global-setup.ts"] };
const STACK_FOLDERS = tests("{db,api,e2e,faults,security,conformance}");
/**
 * What a release rests on, in minutes: an upgrade and a restored backup, an installation into an app, a clone of this repository, a copied
 * database, a process of `npm run worker`, a minute of chaos, the benchmarks; and test/release, whose packages `npm ci` leaves out.
 */
const REHEARSALS = [
  "test/tools/{fresh-clone,install-app,release-check,upgrade}.test.ts",
  "test/faults/{copied-database,worker-process}.test.ts",
  "test/lab/{bench-quick,chaos}.test.ts",
];
const release = project("release", [...REHEARSALS, ...tests("release")], {
  globalSetup: ["test/release/install.ts", ...stackSetup.globalSetup],
});
/** Vitest runs projects in the order of their names. Of all tests these have the longest files, so they begin. */
const tools = project("commands", tests("{tools,lab}"), { exclude: REHEARSALS });
/** The example on Restate. It downloads 220 MB and takes minutes, so `--mode all` leaves it out. Its limit: a film with dozens of restarts. */
const engines = project("engines", tests("engines"), { testTimeout: 900_000 });

/** The official MCP conformance suite and inspector. They download 250 MB, most of it a Node of their own, so `--mode all` leaves them out. */
const mcp = project("mcp", tests("mcp"), stackSetup);

/**
 * Both packages in Node 20, 22 and 24, Bun and Deno, and the example of Next.js, built. The four take 600 MB and Next.js 500, so `--mode
 * all` leaves them out.
 */
const runtimes = project("runtimes", tests("runtimes"), {
  globalSetup: [...stackSetup.globalSetup, "test/support/runtimes/install.ts"],
  hookTimeout: 900_000, // to download and build
});

/** Builds the site, which takes a minute, and reads it in a browser. `--mode all` leaves it out. */
const site = project("site", tests("site"), { globalSetup: ["test/support/site/build-site.ts"] });

/** What needs the workers most. KEYFRAME_TEST_WORKERS makes them processes in every stack. */
const workers = project(
  "workers",
  [
    "test/faults/{deliver-killed,failing-runs,killed-processes}.test.ts",
    "test/e2e/{agent,client,film,quickstart,webhooks-signed}.test.ts",
    "test/api/{predictions,several-starts,webhooks-deliveries}.test.ts",
  ],
  stackSetup,
);

/** What runs with `--mode`; "test" is Vitest's own default. */
const MODES: Record<string, ReturnType<typeof project>[]> = {
  test: [
    project("unit", tests("unit"), { exclude: SLOW_UNITS }),
    project("stack", STACK_FOLDERS, { exclude: [...SLOW_STACK, ...REHEARSALS], ...stackSetup }),
  ],
  slow: [project("slow units", SLOW_UNITS), project("slow stack", SLOW_STACK, stackSetup)],
  tools: [tools],
  release: [release],
  engines: [engines],
  mcp: [mcp],
  runtimes: [runtimes],
  site: [site],
  workers: [workers],
  all: [tools, project("stack", STACK_FOLDERS, { exclude: REHEARSALS, ...stackSetup }), project("unit", tests("unit"))],
};

export default defineConfig(({ mode }) => ({
  test: {
    // More workers than the two cores of the machines this has to pass on: most tests wait for a server most of the time.
    maxWorkers: 4,
    // postgres.js asks a new connection for its array types outside of any promise that its user could catch. The gateway
    // passes over that (local/platform/main.ts); here, where tests kill Postgres under it, it must not fail the run.
    onUnhandledError: (error) => !("query" in error && String(error.query).includes("typarray")),
    projects: MODES[mode] ?? [],
  },
}));
